/**
 * A file on its way: `NAME.partial` with `NAME.partial.json` beside it, which says what of each range is on the disk. Bytes are
 * flushed before the sidecar claims them, so that it is true after a power cut too. Nothing is more than half a chunk ahead of it;
 * the other half is for what the connection holds. A file of less than a chunk gets one only where it stops on the way.
 */
import { type FileHandle, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { z } from 'zod'
import { syncFolder, writeJsonWhole } from '../../engine/formats/atomic-files'
import type { Checksum } from '../repository'
import { partialEnding, sidecarEnding } from '../safe-path'

export interface Range {
  /** Bytes from `start` up to, not including, `end`. */
  readonly start: number
  readonly end: number
  /** How many of them are written. */
  done: number
}

interface OpenRange extends Range {
  /** How many of them the sidecar claims. */
  saved: number
}

const whole = z.number().int().nonnegative()
const sidecar = z.object({
  format: z.literal('recursivemas-partial/1'),
  size: whole,
  checksum: z.object({ kind: z.enum(['sha256', 'git-sha1']), hex: z.string() }),
  ranges: z.array(z.object({ start: whole, end: whole, done: whole })),
})

/** What is to be at `target` in the end. */
export interface Wanted {
  readonly target: string
  readonly size: number
  readonly checksum: Checksum
}

/** Bytes of a file that need not be fetched any more: the sidecar's claims, 0 where there is none that fits. */
export async function savedBytes(wanted: Wanted): Promise<number> {
  return ((await readSidecar(wanted)) ?? []).reduce((sum, { done }) => sum + done, 0)
}

export async function removePartial(target: string): Promise<void> {
  await rm(target + sidecarEnding, { force: true })
  await rm(target + partialEnding, { force: true })
}

export class PartialFile {
  private saving: Promise<void> | null = null

  private constructor(
    readonly wanted: Wanted,
    private parts: readonly OpenRange[],
    private readonly handle: FileHandle,
    private readonly chunk: number,
  ) {}

  get ranges(): readonly Range[] {
    return this.parts
  }

  /** Goes on with what is there, or begins with `count` ranges of about equal length. `chunk`: bytes. */
  static async open(wanted: Wanted, count: number, chunk: number): Promise<PartialFile> {
    const path = wanted.target + partialEnding
    const there = await readSidecar(wanted)
    if (there) {
      const ranges = there.map((range) => ({ ...range, saved: range.done }))
      return new PartialFile(wanted, ranges, await open(path, 'r+'), chunk)
    }
    await removePartial(wanted.target)
    const bounds = Array.from({ length: count + 1 }, (_, i) => Math.floor((wanted.size * i) / count))
    const ranges = bounds.slice(1).map((end, i) => ({ start: bounds[i], end, done: 0, saved: 0 }))
    const handle = await open(path, 'wx')
    const partial = new PartialFile(wanted, ranges, handle, chunk)
    if (wanted.size >= chunk)
      try {
        await partial.writeSidecar(ranges)
      } catch (error) {
        await handle.close()
        throw error
      }
    return partial
  }

  /** Writes at the range's end; waits for the disk where it is too far behind. `bytes` fit into the range. */
  async write(range: Range, bytes: Uint8Array): Promise<void> {
    const own = range as OpenRange
    const most = Math.max(1, this.chunk >> 1)
    for (let at = 0; at < bytes.length;) {
      if (own.done - own.saved >= most) await this.save()
      const length = Math.min(bytes.length - at, most - (own.done - own.saved))
      const { bytesWritten } = await this.handle.write(bytes, at, length, own.start + own.done)
      own.done += bytesWritten
      at += bytesWritten
      // early, so that the connection need not wait
      if (own.done - own.saved >= most >> 1 && this.saving === null) void this.save().catch(() => undefined)
    }
  }

  /** Flushes the file, then claims what was written before. */
  async save(): Promise<void> {
    // one that is under way may have begun before the last write
    while (this.saving !== null) await this.saving
    this.saving = this.saveNow().finally(() => (this.saving = null))
    await this.saving
  }

  private async saveNow(): Promise<void> {
    const done = this.parts.map((range) => range.done)
    if (this.parts.every((range, i) => range.saved === done[i])) return
    await this.handle.datasync()
    await this.writeSidecar(this.parts.map(({ start, end }, i) => ({ start, end, done: done[i] })))
    this.parts.forEach((range, i) => (range.saved = done[i]))
  }

  private async writeSidecar(ranges: readonly Range[]): Promise<void> {
    const { size, checksum, target } = this.wanted
    await writeJsonWhole(target + sidecarEnding, {
      format: 'recursivemas-partial/1',
      size,
      checksum,
      ranges: ranges.map(({ start, end, done }) => ({ start, end, done })),
    })
  }

  /** One range instead of several, which holds what is there without a gap from the file's begin on. Nobody writes meanwhile. */
  async joinRanges(): Promise<void> {
    await this.save()
    const first = this.parts.find(({ start, end, done }) => start + done < end)
    const done = first ? first.start + first.done : this.wanted.size
    this.parts = [{ start: 0, end: this.wanted.size, done, saved: done }]
    await this.writeSidecar(this.parts)
  }

  /** Ends the work on it for now. */
  async close(): Promise<void> {
    while (this.saving !== null) await this.saving.catch(() => undefined)
    await this.handle.close()
  }

  /** Everything is there: flushed and closed, it may be checked and then take its name. The sidecar is not told any more. */
  async complete(): Promise<void> {
    await this.handle.sync()
    await this.close()
  }

  /** It is complete but could not be checked now: the sidecar says that everything is on the disk. */
  async claim(): Promise<void> {
    await this.writeSidecar(this.parts)
  }
}

/** Gives a checked file its name. */
export async function takeName(target: string): Promise<void> {
  await rename(target + partialEnding, target)
  await syncFolder(dirname(target))
  await rm(target + sidecarEnding, { force: true })
}

/** The ranges on the disk; null where there are none, or they are those of another content or of a shorter file. */
async function readSidecar({ target, size, checksum }: Wanted): Promise<Range[] | null> {
  let json: unknown
  try {
    json = JSON.parse(await readFile(target + sidecarEnding, 'utf8'))
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  const parsed = sidecar.safeParse(json)
  if (!parsed.success) return null
  const { ranges, ...of } = parsed.data
  if (of.size !== size || of.checksum.kind !== checksum.kind || of.checksum.hex !== checksum.hex) return null
  let end = 0
  for (const range of ranges) {
    if (range.start !== end || range.end < range.start || range.done > range.end - range.start) return null
    end = range.end
  }
  const there = await stat(target + partialEnding).catch(() => null)
  const least = Math.max(0, ...ranges.map((range) => (range.done > 0 ? range.start + range.done : 0)))
  return end === size && there?.isFile() && there.size >= least ? ranges : null
}
