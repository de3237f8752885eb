/**
 * Zip archives with stored members whose data begins at multiples of 64 bytes, as torch lays them out so that a reader can
 * map tensors in place. (The zip libraries at hand cannot align.) The same members give the same bytes.
 */
import { crc32 } from 'node:zlib'

export interface ZipMember {
  /** ASCII, forward slashes. */
  readonly name: string
  readonly data: Uint8Array
}

const alignment = 64
/** 1 January 1980, the earliest date that the format knows. */
const date = 0x21
/** Without the 64-bit extension, sizes and places stay below this. */
const most = 0xffffffff

/** The archive's bytes, in pieces. */
export function* zipChunks(members: readonly ZipMember[]): Iterable<Uint8Array> {
  const directory: Buffer[] = []
  let at = 0
  for (const { name, data } of members) {
    const unpadded = at + 30 + name.length
    const padding = (alignment - (unpadded % alignment)) % alignment
    // An extra field has a head of four bytes, so a smaller gap takes a whole alignment more.
    const extra = padding === 0 || padding >= 4 ? padding : padding + alignment
    const size = 30 + name.length + extra + data.length
    if (at + size > most) throw new Error('a zip archive without its 64-bit extension ends at 4 GiB')
    const shared = sharedHeader(name, data)
    yield Buffer.concat([
      Buffer.from('PK\x03\x04', 'latin1'),
      shared,
      uint16(extra),
      Buffer.from(name, 'latin1'),
      paddingField(extra),
    ])
    yield data
    directory.push(directoryEntry(name, shared, at))
    at += size
  }
  const central = Buffer.concat(directory)
  yield central
  yield endRecord(members.length, central.length, at)
}

/** What a local header and a directory entry have in common, up to the length of the name. */
function sharedHeader(name: string, data: Uint8Array): Buffer {
  const header = Buffer.alloc(24)
  header.writeUInt16LE(20, 0) // version needed: 2.0
  header.writeUInt16LE(date, 8)
  header.writeUInt32LE(crc32(data), 10)
  header.writeUInt32LE(data.length, 14)
  header.writeUInt32LE(data.length, 18)
  header.writeUInt16LE(name.length, 22)
  return header
}

function directoryEntry(name: string, shared: Buffer, at: number): Buffer {
  const rest = Buffer.alloc(16) // extra, comment, disk, attributes: all zero
  rest.writeUInt32LE(at, 12)
  return Buffer.concat([Buffer.from('PK\x01\x02', 'latin1'), uint16(20), shared, rest, Buffer.from(name, 'latin1')])
}

function endRecord(count: number, length: number, at: number): Buffer {
  const record = Buffer.alloc(22)
  record.write('PK\x05\x06', 'latin1')
  record.writeUInt16LE(count, 8)
  record.writeUInt16LE(count, 10)
  record.writeUInt32LE(length, 12)
  record.writeUInt32LE(at, 16)
  return record
}

/** An extra field under the id "FB" that readers skip, as torch pads. */
function paddingField(length: number): Buffer {
  if (length === 0) return Buffer.alloc(0)
  return Buffer.concat([Buffer.from('FB'), uint16(length - 4), Buffer.alloc(length - 4, 'Z')])
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16LE(value)
  return bytes
}
