/** Says what is wrong with bytes that are not UTF-8, and what they may be. */
export function brokenText(bytes: Buffer): string {
  // text in a one-byte encoding holds a valid sequence of several bytes only by chance
  const isOneByte = !/[^\0-\x7f\ufffd]/.test(bytes.toString())
  return `holds bytes that are not UTF-8 text${isOneByte ? '; if it is Latin-1, say so (encoding latin1)' : ''}`
}
