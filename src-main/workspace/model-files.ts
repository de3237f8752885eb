/** The files of a model's folder that a run needs; a Hugging Face cache has links in their place. */
import { readdir, realpath, stat } from 'node:fs/promises'
import path from 'node:path'
import { neededFiles } from '../hub/needed-files'
import { isSafePath } from '../hub/safe-path'

export interface ModelFile {
  /** Below the folder, with forward slashes. */
  readonly path: string
  /** Where its bytes lie, links followed. */
  readonly real: string
  readonly size: number
}

/** Links that lead nowhere are left out. Throws the operating system's errors. */
export async function modelFiles(folder: string): Promise<ModelFile[]> {
  const all = await filesBelow(folder)
  const checksum = { kind: 'sha256', hex: '' } as const
  const needed = new Set(
    neededFiles(
      'model',
      all.map(({ path: file, size }) => ({ path: file, size, checksum })),
    ).map((file) => file.path),
  )
  return all.filter((file) => needed.has(file.path))
}

async function filesBelow(folder: string, below = ''): Promise<ModelFile[]> {
  const found: ModelFile[] = []
  for (const entry of await readdir(path.join(folder, below), { withFileTypes: true })) {
    const file = below === '' ? entry.name : `${below}/${entry.name}`
    if (!isSafePath(file) || entry.name.startsWith('.')) continue
    const real = await realpath(path.join(folder, file)).catch(() => null)
    const info = real === null ? null : await stat(real).catch(() => null)
    if (real === null || info === null) continue
    if (entry.isDirectory()) found.push(...(await filesBelow(folder, file)))
    else if (info.isFile()) found.push({ path: file, real, size: info.size })
  }
  return found
}
