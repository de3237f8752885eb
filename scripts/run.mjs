// The one entry of every npm script: checks Node, sets up what the command needs, runs it. Must parse on any Node 14+,
// so that an old Node gets a sentence and not a syntax error; everything else is imported after the check.
import { checkNode } from './setup/node-version.mjs'

const problem = checkNode()
if (problem) {
  process.stderr.write(problem + '\n')
  process.exitCode = 1
} else {
  const { main } = await import('./commands.mjs')
  process.exitCode = await main(process.argv.slice(2))
}
