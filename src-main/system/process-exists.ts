/** Whether a process of this machine is there, whoever it belongs to. */
export function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM: it is there, but another user's
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
