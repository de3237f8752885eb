/** What this machine has at the moment: processor, memory, disk, and the device that models run on. */
import { statfs } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import type { SystemInfo } from '../bridge/contract'
import { availableMemory, machineMemory } from '../engine/memory/machine'

export class SystemProbe {
  private before = cpuTimes()
  private load: number | null = null

  /** `folder`: the workspace, whose volume counts. `engineBytes`: memory of the running engines, where known. */
  async read(folder: string, engineBytes: number | null): Promise<SystemInfo> {
    const [first] = os.cpus()
    const model = first?.model.replace(/\s+/g, ' ').trim() || 'unknown processor'
    return {
      cpu: { model, cores: os.availableParallelism(), load: this.readLoad() },
      memory: { total: machineMemory(), available: availableMemory() },
      disk: await disk(folder),
      device: { kind: 'cpu', name: model },
      engineBytes,
    }
  }

  /** Share of the processors' time that was not idle since the last reading; the last value where too little time went by. */
  private readLoad(): number | null {
    const now = cpuTimes()
    const total = now.total - this.before.total
    if (total < 200) return this.load
    this.load = 1 - (now.idle - this.before.idle) / total
    this.before = now
    return this.load
  }
}

function cpuTimes(): { idle: number; total: number } {
  let idle = 0
  let total = 0
  for (const { times } of os.cpus()) {
    idle += times.idle
    total += times.user + times.nice + times.sys + times.idle + times.irq
  }
  return { idle, total }
}

/** The volume of a folder, or of its nearest parent that is there. */
async function disk(folder: string): Promise<SystemInfo['disk']> {
  for (let at = path.resolve(folder); ; at = path.dirname(at)) {
    try {
      const { bavail, blocks, bsize } = await statfs(at)
      return { folder, total: blocks * bsize, free: bavail * bsize }
    } catch {
      if (at === path.dirname(at)) return null
    }
  }
}
