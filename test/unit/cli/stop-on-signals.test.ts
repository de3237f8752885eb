/** Signals to a real process that runs the compiled handler: which of them asks to stop, which is the same one, which ends it. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import ts from 'typescript'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'

const source = path.join(import.meta.dirname, '../../../src-main/cli/stop-on-signals.ts')
let folder: string
let child: ChildProcess | undefined

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'studio-signals-'))
  const options = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 }
  const { outputText } = ts.transpileModule(readFileSync(source, 'utf8'), { compilerOptions: options })
  writeFileSync(path.join(folder, 'stop-on-signals.mjs'), outputText)
  writeFileSync(
    path.join(folder, 'main.mjs'),
    `import { stopOnSignals } from './stop-on-signals.mjs'
     let beats = 0
     const { signal } = stopOnSignals({ sameWithin: process.argv[2] && Number(process.argv[2]) })
     signal.addEventListener('abort', () => console.log('asked to stop'))
     setInterval(() => {
       beats += 1
       console.log('beat', beats, process.listenerCount('SIGINT') === 0 ? 'deaf' : 'listening')
     }, 20)`,
  )
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))
afterEach(() => child?.kill('SIGKILL'))

/** Starts the process; `until` resolves when it prints what is asked for from now on, `ended` with what ended it. */
function start(...args: number[]) {
  const started = spawn(process.execPath, [path.join(folder, 'main.mjs'), ...args.map(String)], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  child = started
  const ended = once(started, 'exit').then(([code, signal]) => (signal as string | null) ?? (code as number))
  const until = async (wanted: RegExp): Promise<void> => {
    let text = ''
    const read = (data: Buffer) => void (text += String(data))
    started.stdout.on('data', read)
    while (!wanted.test(text)) {
      if (started.exitCode !== null || started.signalCode !== null) throw new Error(`it ended before ${wanted}`)
      await Promise.race([once(started.stdout, 'data'), ended])
    }
    started.stdout.off('data', read)
  }
  return { kill: (signal: NodeJS.Signals) => started.kill(signal), until, ended }
}

describe.runIf(process.platform !== 'win32')('Ctrl-C', () => {
  it.each(['SIGINT', 'SIGTERM'] as const)('%s that comes twice asks once and ends nothing', async (signal) => {
    const process = start(60_000)
    await process.until(/beat/)
    process.kill(signal)
    await process.until(/asked to stop/)
    process.kill(signal)
    await process.until(/(beat[^]*){5}/)
  })

  it('a later one ends the process at once', async () => {
    const process = start(0)
    await process.until(/listening/)
    process.kill('SIGINT')
    await process.until(/deaf/)
    process.kill('SIGINT')
    expect(await process.ended).toBe('SIGINT')
  })

  it('counts as the same for about a second', async () => {
    const process = start()
    await process.until(/listening/)
    process.kill('SIGINT')
    await process.until(/asked to stop/)
    process.kill('SIGINT')
    await process.until(/deaf/)
    process.kill('SIGINT')
    expect(await process.ended).toBe('SIGINT')
  })

  it('and another signal after it ends the process at once', async () => {
    const process = start(60_000)
    await process.until(/beat/)
    process.kill('SIGINT')
    await process.until(/asked to stop/)
    process.kill('SIGTERM')
    expect(await process.ended).toBe('SIGTERM')
  })
})
