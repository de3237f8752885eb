/**
 * States that depend on no trained weight, kept in memory and on disk under a hash of everything they do depend on, so that
 * they are computed once per model and text however often a row is seen, in this run or a later one.
 *
 * A collection is a folder of segments, each written by one process: `<name>.bin` holds float32 rows one after the
 * other, `<name>.jsonl` one line per entry with the checksum of its bytes, written after them. Entries whose bytes are not there, or
 * not the ones that were written (a power cut can leave zeros), are ignored.
 */
import { createHash } from 'node:crypto'
import { closeSync, existsSync, fstatSync, openSync, readdirSync, readFileSync, readSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { makeFolder } from '../formats/make-folder'

interface Entry {
  readonly segment: number
  /** Bytes. */
  readonly offset: number
  readonly length: number
  /** CRC-32 of the bytes. */
  readonly sum: number
}

/** Memory of one store, bytes: what was read or written last stays. */
export const memoryLimit = 512 * 2 ** 20

export interface StateStore {
  /** `agent` names the collection, `key` (any JSON value) the entry in it. */
  get(agent: number, key: unknown): Float32Array | null
  put(agent: number, key: unknown, states: Float32Array): void
}

/** One collection: everything computed by one model in one way. */
export class StateCollection {
  private readonly entries = new Map<string, Entry>()
  private readonly recent = new Map<string, Float32Array>()
  private readonly segments: number[] = []
  private held = 0
  private writing: { data: number; index: number; segment: number; offset: number } | null = null

  /** `folder` null: memory only. Opening reads the index, not the states. */
  constructor(
    private readonly folder: string | null,
    private readonly limit = memoryLimit,
  ) {
    if (!folder || !existsSync(folder)) return
    for (const file of readdirSync(folder)
      .filter((f) => f.endsWith('.jsonl'))
      .sort())
      this.openSegment(join(folder, file.slice(0, -'.jsonl'.length)))
  }

  get(key: unknown): Float32Array | null {
    const hash = hashOf(key)
    const known = this.recent.get(hash)
    if (known) {
      // most recently used last
      this.recent.delete(hash)
      this.recent.set(hash, known)
      return known
    }
    const entry = this.entries.get(hash)
    if (!entry) return null
    const states = new Float32Array(entry.length / 4)
    const bytes = new Uint8Array(states.buffer)
    const got = readSync(this.segments[entry.segment], bytes, 0, entry.length, entry.offset)
    if (got !== entry.length || crc32(bytes) !== entry.sum) {
      this.entries.delete(hash)
      return null
    }
    this.remember(hash, states)
    return states
  }

  /** Keeps the array itself: the caller must not change it afterwards. */
  put(key: unknown, states: Float32Array): void {
    const hash = hashOf(key)
    if (this.recent.has(hash) || this.entries.has(hash)) return
    const own = states.byteLength === states.buffer.byteLength ? states : states.slice()
    if (this.folder) {
      const w = (this.writing ??= this.newSegment(this.folder))
      const bytes = new Uint8Array(own.buffer)
      for (let done = 0; done < bytes.length;)
        done += writeSync(w.data, bytes, done, bytes.length - done, w.offset + done)
      const place = { offset: w.offset, length: bytes.length, sum: crc32(bytes) }
      writeSync(w.index, JSON.stringify({ key: hash, ...place }) + '\n')
      this.entries.set(hash, { segment: w.segment, ...place })
      w.offset += bytes.length
    }
    this.remember(hash, own)
  }

  close(): void {
    if (this.writing) closeSync(this.writing.index)
    for (const segment of this.segments) closeSync(segment)
    this.segments.length = 0
    this.writing = null
    this.entries.clear()
    this.recent.clear()
  }

  private remember(hash: string, states: Float32Array): void {
    this.recent.set(hash, states)
    this.held += states.byteLength
    for (const [oldest, old] of this.recent) {
      if (this.held <= this.limit || oldest === hash) break
      this.recent.delete(oldest)
      this.held -= old.byteLength
    }
  }

  private openSegment(path: string): void {
    if (!existsSync(`${path}.bin`)) return
    const data = openSync(`${path}.bin`, 'r')
    const size = fstatSync(data).size
    const segment = this.segments.push(data) - 1
    for (const line of readFileSync(`${path}.jsonl`, 'utf8').split('\n')) {
      const entry = parseLine(line)
      if (entry && entry.offset + entry.length <= size)
        this.entries.set(entry.key, { segment, offset: entry.offset, length: entry.length, sum: entry.sum })
    }
  }

  private newSegment(folder: string): { data: number; index: number; segment: number; offset: number } {
    makeFolder(folder)
    const path = join(folder, `${Date.now()}-${process.pid}-${segmentsMade++}`)
    const data = openSync(`${path}.bin`, 'wx+')
    const index = openSync(`${path}.jsonl`, 'wx')
    return { data, index, segment: this.segments.push(data) - 1, offset: 0 }
  }
}

/** Of this process; two stores of one folder may open a segment in the same millisecond. */
let segmentsMade = 0

type IndexLine = Omit<Entry, 'segment'> & { readonly key: string }

/** A crash can leave half a line. */
function parseLine(line: string): IndexLine | null {
  if (!line.endsWith('}')) return null
  try {
    return JSON.parse(line) as IndexLine
  } catch {
    return null
  }
}

export function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 32)
}

/** Collections under one folder, one per identity (model, inner link, way of reading); opened when first asked for. */
export class DiskStateStore implements StateStore {
  private readonly collections = new Map<number, StateCollection>()

  /** `identities`: by agent index, everything besides the key that the states depend on. `folder` null: memory only. */
  constructor(
    private readonly folder: string | null,
    private readonly identities: readonly unknown[],
  ) {}

  get(agent: number, key: unknown): Float32Array | null {
    return this.collection(agent).get(key)
  }

  put(agent: number, key: unknown, states: Float32Array): void {
    this.collection(agent).put(key, states)
  }

  close(): void {
    for (const c of this.collections.values()) c.close()
    this.collections.clear()
  }

  private collection(agent: number): StateCollection {
    let c = this.collections.get(agent)
    if (!c) {
      const name = hashOf(this.identities[agent])
      this.collections.set(agent, (c = new StateCollection(this.folder && join(this.folder, name))))
    }
    return c
  }
}
