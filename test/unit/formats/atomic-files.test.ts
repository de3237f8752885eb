/** Files that appear only when complete, and full or read-only volumes explained. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { UserError } from '../../../src-main/engine/errors'
import {
  removeFolderWhole,
  removeLeftovers,
  writeFileWhole,
  writeFolderWhole,
  writeJsonWhole,
} from '../../../src-main/engine/formats/atomic-files'
import { asDiskError, formatBytes, prepareOutputFolder } from '../../../src-main/engine/formats/disk-errors'
import { mountVolume } from '../../volumes'

const work = mkdtempSync(join(tmpdir(), 'atomic-'))
afterAll(() => rmSync(work, { recursive: true }))
const content = (folder: string) => readdirSync(folder).sort()

async function refusal(promise: Promise<unknown>): Promise<UserError> {
  const error = await promise.catch((e: unknown) => e)
  expect(error).toBeInstanceOf(UserError)
  return error as UserError
}

describe('whole files', () => {
  it('are written in pieces, replace what was there, and leave no temporary', async () => {
    const folder = join(work, 'files')
    await writeFileWhole(join(folder, 'a.txt'), 'old')
    await writeFileWhole(join(folder, 'a.txt'), ['new ', Buffer.from('text'), new Uint8Array()])
    await writeJsonWhole(join(folder, 'b.json'), { a: 1 })
    expect(readFileSync(join(folder, 'a.txt'), 'utf8')).toBe('new text')
    expect(readFileSync(join(folder, 'b.json'), 'utf8')).toBe('{\n  "a": 1\n}\n')
    expect(content(folder)).toEqual(['a.txt', 'b.json'])
  })

  it('keep the old content when writing fails halfway', async () => {
    const path = join(work, 'kept', 'a.txt')
    await writeFileWhole(path, 'old')
    const breaking = (function* () {
      yield 'half'
      throw new Error('broken')
    })()
    await expect(writeFileWhole(path, breaking)).rejects.toThrow('broken')
    expect(readFileSync(path, 'utf8')).toBe('old')
    expect(content(join(work, 'kept'))).toEqual(['a.txt'])
  })
})

describe('whole folders', () => {
  const folder = join(work, 'folders', 'step-1')
  const put = (name: string, text: string) => async (temporary: string) => writeFileSync(join(temporary, name), text)

  it('appear complete, replace only what they may, and keep the old one when filling fails', async () => {
    await writeFolderWhole(folder, async (temporary) => {
      writeFileSync(join(temporary, 'a'), '1')
      expect(existsSync(folder)).toBe(false)
    })
    expect((await refusal(writeFolderWhole(folder, put('b', '2')))).message).toContain('already holds other files')
    await expect(
      writeFolderWhole(folder, async () => Promise.reject(new Error('broken')), {
        replaces: (names) => names.includes('a'),
      }),
    ).rejects.toThrow('broken')
    expect(content(folder)).toEqual(['a'])
    await writeFolderWhole(folder, put('b', '2'), { replaces: (names) => names.includes('a') })
    expect(content(folder)).toEqual(['b'])
    expect(content(join(work, 'folders'))).toEqual(['step-1'])
  })

  it('are removed whole; leftovers of a crash are taken away', async () => {
    await removeFolderWhole(folder)
    mkdirSync(join(work, 'folders', '.incomplete-step-2-1-abcd'))
    writeFileSync(join(work, 'folders', 'other'), '')
    await removeLeftovers(join(work, 'folders'))
    expect(content(join(work, 'folders'))).toEqual(['other'])
  })
})

describe('disk trouble', () => {
  const undo: (() => void)[] = []
  afterEach(() => undo.splice(0).forEach((u) => u()))

  it('a full disk: named with its free space, nothing left behind, what was there untouched', async (context) => {
    const volume = mountVolume('size=64k')
    if (!volume) return context.skip('no right to mount a small volume')
    undo.push(volume.remove)
    const path = join(volume.folder, 'links.bin')
    await writeFileWhole(path, Buffer.alloc(8000, 1))
    const error = await refusal(writeFileWhole(path, Buffer.alloc(80_000)))
    expect(error.what).toBe('links.bin could not be written.')
    expect(error.why).toMatch(/^The disk is full: .*volume-.* \([\d.]+ (KiB|bytes) free on its volume\)\.$/)
    expect(error.next).toContain('Free some space')
    expect(content(volume.folder)).toEqual(['links.bin'])
    expect(readFileSync(path)).toEqual(Buffer.alloc(8000, 1))
    const step = await refusal(
      writeFolderWhole(join(volume.folder, 'step-1'), (t) => writeFileWhole(join(t, 'a'), Buffer.alloc(80_000))),
    )
    expect(step.what).toBe('The folder step-1 could not be written.')
    expect(step.why).not.toContain('incomplete')
    expect(content(volume.folder)).toEqual(['links.bin'])
    expect((await refusal(prepareOutputFolder(volume.folder, { needBytes: 1e6 }))).why).toMatch(
      /needs about 977 KiB, but its volume has .* free/,
    )
    await prepareOutputFolder(volume.folder, { needBytes: 1000 })
    expect(content(volume.folder)).toEqual(['links.bin'])
  })

  it('a folder that cannot be written to', async () => {
    const volume = mountVolume('size=64k,ro')
    const folder = volume?.folder ?? mkdtempSync(join(work, 'closed-'))
    if (volume) undo.push(volume.remove)
    else {
      chmodSync(folder, 0o555)
      undo.push(() => chmodSync(folder, 0o755))
    }
    const actions = [
      () => writeFileWhole(join(folder, 'a'), 'x'),
      () => writeFolderWhole(join(folder, 'b'), async () => {}),
      () => prepareOutputFolder(folder),
    ]
    for (const action of actions) {
      const error = await refusal(action())
      expect(error.why).toMatch(volume ? /^The volume is read-only: / : /^There is no permission to write to /)
      expect(error.why).toContain(folder)
    }
    expect(content(folder)).toEqual([])
  })

  it('a file where a folder is needed', async () => {
    const path = join(work, 'file')
    writeFileSync(path, '')
    expect((await refusal(prepareOutputFolder(path))).why).toContain('A file stands where a folder is needed')
    expect((await refusal(writeFileWhole(join(path, 'x', 'a'), ''))).why).toContain('is a file, not a folder')
  })

  it.skipIf(process.platform !== 'linux')('a place where no folder can be made', async () => {
    const error = await refusal(prepareOutputFolder('/proc/results/run'))
    expect(error.why).toMatch(/^No folder can be made at \/proc\/results\/run/)
    expect((await refusal(writeFileWhole('/proc/results/a.txt', 'x'))).why).toContain('No folder can be made at')
  })

  it('leave no folder behind that was made for what does not fit', async () => {
    await refusal(prepareOutputFolder(join(work, 'new', 'run'), { needBytes: Number.MAX_SAFE_INTEGER }))
    expect(existsSync(join(work, 'new'))).toBe(false)
    expect(await prepareOutputFolder(join(work, 'new', 'run'))).toBe(join(work, 'new'))
    expect(await prepareOutputFolder(join(work, 'new', 'run'))).toBeNull()
  })

  it('other errors stay what they are', async () => {
    const defect = new TypeError('a defect')
    expect(await asDiskError(defect, { folder: work, doing: 'x' })).toBe(defect)
  })

  it('sizes for people', () => {
    expect([0, 1023, 1024, 1536, 5 * 2 ** 30].map(formatBytes)).toEqual([
      '0 bytes',
      '1020 bytes',
      '1 KiB',
      '1.5 KiB',
      '5 GiB',
    ])
  })
})
