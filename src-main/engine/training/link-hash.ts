/** What a link checkpoint holds, as one hash, so that links can be told apart wherever they lie. */
import { createHash } from 'node:crypto'
import { createReadStream, existsSync, statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { linksName } from './link-manifest'

/** Files of the published layouts that say what a link is. Weights of a model that stands beside it are none of them. */
const counts = /\.(pt|json)$/

/** SHA-256 of a file, of one of our folders' links, or of the links' files in a folder of another layout; null where nothing is there. */
export async function hashLink(path: string): Promise<string | null> {
  try {
    const info = statSync(path)
    if (!info.isDirectory()) return await hashFiles([['', path]])
    const own = join(path, linksName)
    if (existsSync(own)) return await hashFiles([['', own]])
    const names = (await readdir(path, { recursive: true, withFileTypes: true }))
      .filter((entry) => (entry.isFile() || entry.isSymbolicLink()) && counts.test(entry.name))
      .map((entry) => relative(path, join(entry.parentPath, entry.name)).split(sep).join('/'))
      .sort()
    return names.length === 0 ? null : await hashFiles(names.map((name) => [name, join(path, name)]))
  } catch {
    // whoever opens the link says what is wrong with it
    return null
  }
}

async function hashFiles(files: readonly (readonly [name: string, file: string])[]): Promise<string> {
  const whole = createHash('sha256')
  for (const [name, file] of files) {
    const one = createHash('sha256')
    for await (const chunk of createReadStream(file)) one.update(chunk as Uint8Array)
    whole.update(JSON.stringify([name, one.digest('hex')]))
  }
  return whole.digest('hex')
}
