/** One download into a folder at a time, whichever process it runs in: a file that names its holder and is touched while it lives. */
import { randomUUID } from 'node:crypto'
import { readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { UserError } from '../../engine/errors'
import { processExists } from '../../system/process-exists'
import { lockName } from '../safe-path'

const touchMs = 5_000
/** A holder that cannot be seen from here counts as ended when it has not touched the file for so long. */
const silentMs = 60_000

/** Returns what gives the lock back. A UserError where somebody else holds it. */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  const path = join(folder, lockName)
  const holder = JSON.stringify({ id: randomUUID(), host: hostname(), pid: process.pid })
  for (let taken = false; !taken;) {
    taken = await writeFile(path, holder, { flag: 'wx' }).then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        if (error.code === 'EEXIST') return false
        throw error
      },
    )
    if (taken) break
    if (!(await hasEnded(path)))
      throw new UserError({
        what: 'The download cannot begin.',
        why: `Another one into ${folder} is running.`,
        next: 'Wait for it or stop it, or choose another folder.',
      })
    await rm(path, { force: true })
  }
  const touching = setInterval(() => void utimes(path, new Date(), new Date()).catch(() => undefined), touchMs)
  touching.unref()
  return async () => {
    clearInterval(touching)
    if ((await readFile(path, 'utf8').catch(() => '')) === holder) await rm(path, { force: true })
  }
}

async function hasEnded(path: string): Promise<boolean> {
  const touched = (await stat(path).catch(() => null))?.mtimeMs
  if (touched === undefined || Date.now() - touched > silentMs) return true
  try {
    const { host, pid } = JSON.parse(await readFile(path, 'utf8')) as { host: unknown; pid: unknown }
    return host === hostname() && typeof pid === 'number' && !processExists(pid)
  } catch {
    // half written, a moment ago
    return false
  }
}
