/** `npm run docs [-- --check]`: writes the tables of README.md that follow from the code. `--check` writes nothing and fails where they differ. */
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { writeFileWhole } from '../engine/formats/atomic-files'
import { parseOrHelp } from './options'
import { withSections } from './readme-tables'

const usage = `npm run docs [-- --check]
  --check      writes nothing; exit code 1 where README.md is not what the code says`

/** Returns the exit code. */
export async function runDocs(args: readonly string[]): Promise<number> {
  const parsed = parseOrHelp(args, { check: { type: 'boolean', default: false } }, usage)
  if (!parsed) return 0
  const { values } = parsed
  const file = path.resolve('README.md')
  const readme = await readFile(file, 'utf8')
  const wanted = withSections(readme)
  if (wanted === readme) return 0
  if (values.check) {
    process.stderr.write('README.md is not what the code says: run "npm run docs".\n')
    return 1
  }
  await writeFileWhole(file, wanted)
  process.stderr.write('README.md is up to date.\n')
  return 0
}
