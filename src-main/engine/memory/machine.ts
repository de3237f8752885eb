/** What this machine has for new work. Bytes. */
import { readFileSync, writeFileSync } from 'node:fs'
import { freemem, totalmem } from 'node:os'
import { dirname, join } from 'node:path'

interface Limit {
  readonly limit: number
  /** Taken of it by whatever it holds for; caches that the kernel would give up not counted. */
  readonly used: number
}

/** All of it; a container's limit counts where there is one. */
export function machineMemory(): number {
  return Math.min(totalmem(), ...containerLimits().map(({ limit }) => limit))
}

/** What new work can take now: on Linux the kernel's own estimate (MemAvailable), less where a container's limit leaves less. */
export function availableMemory(): number {
  return Math.max(0, Math.min(freemem(), ...containerLimits().map(({ limit, used }) => limit - used)))
}

/** What a job may take now: some of what is available is left to the system and to other programs. */
export function memoryForJobs(): number {
  return Math.max(0, availableMemory() - Math.min(machineMemory() * 0.05, 512e6))
}

/** The limits that hold for this process (Linux control groups, version 2: its own group's and those of the groups around it). */
export function containerLimits(proc = '/proc/self/cgroup', mount = '/sys/fs/cgroup'): Limit[] {
  const own = /^0::(\/.*)$/m.exec(read(proc) ?? '')?.[1]
  if (own === undefined) return []
  const limits: Limit[] = []
  for (let group = own; ; group = dirname(group)) {
    const text = (name: string) => read(join(mount, group, name))
    const limit = Number(text('memory.max') ?? NaN)
    if (Number.isFinite(limit)) {
      const cached = Number(/^inactive_file (\d+)$/m.exec(text('memory.stat') ?? '')?.[1] ?? 0)
      limits.push({ limit, used: Number(text('memory.current') ?? 0) - cached })
    }
    if (group === '/') return limits
  }
}

/** From here on `peakMemory` tells of what comes, where the system can do that (Linux); several jobs may share a process. */
export function startPeak(): void {
  try {
    writeFileSync('/proc/self/clear_refs', '5')
  } catch {
    // the peak is then that of the process's whole life
  }
}

/** The largest that this process has been (since `startPeak`); null where the system does not say. */
export function peakMemory(): number | null {
  const status = read('/proc/self/status')
  const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(status ?? '')?.[1]
  if (kilobytes !== undefined) return Number(kilobytes) * 1024
  return process.resourceUsage().maxRSS * 1024 || null
}

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return null
  }
}
