/** The bytes of a text file as UTF-8, piece by piece, whatever its encoding. Whether they are valid is the reader's to check. */
import { createReadStream } from 'node:fs'
import { asReadError } from '../engine/formats/disk-errors'
import type { Detected } from './detect-format'
import { unreadable } from './unreadable'

const pieceBytes = 1 << 20

/** `onBytes`: bytes of the file read so far. Throws UserError. */
export async function* textPieces(
  file: string,
  { encoding, skip }: Pick<Detected, 'encoding' | 'skip'>,
  onBytes: (done: number) => void,
  signal?: AbortSignal,
): AsyncGenerator<Buffer> {
  const stream = createReadStream(file, { start: skip, highWaterMark: pieceBytes, signal }) as AsyncIterable<Buffer>
  const convert = encoding === 'utf-8' ? null : converter(encoding)
  let done = skip
  try {
    for await (const piece of stream) {
      done += piece.length
      yield convert === null ? piece : convert(piece)
      onBytes(done)
    }
    if (convert !== null) yield convert(null)
  } catch (error) {
    if (error instanceof TypeError && 'code' in error && error.code === 'ERR_ENCODING_INVALID_ENCODED_DATA')
      throw unreadable(file, `it is broken ${encoding} text`, 'Save the file as UTF-8.', error)
    throw asReadError(error, file, 'data file')
  }
}

/** null ends the text. */
function converter(encoding: Exclude<Detected['encoding'], 'utf-8'>): (piece: Buffer | null) => Buffer {
  const decoder = new TextDecoder(encoding, { fatal: encoding !== 'latin1', ignoreBOM: true })
  return (piece) => Buffer.from(piece === null ? decoder.decode() : decoder.decode(piece, { stream: true }))
}
