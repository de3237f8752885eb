/** Starts a process of ours as one of Electron's utility processes. */
import { app, utilityProcess, type Details } from 'electron'
import { childEnvironment } from './child-environment'
import type { Spawn } from './child'

/** How Electron names the ways in which a process goes, for a person. */
const reasons: Partial<Record<Details['reason'], string>> = {
  oom: 'It ran out of memory',
  crashed: 'Its process crashed',
  killed: 'Its process was ended from outside',
  'launch-failed': 'Its process could not be started',
  'integrity-failure': 'Its code did not pass the integrity check',
}

let started = 0

/** `title`: what the system's list of processes calls it. `flags`: options for V8. */
export function utilitySpawner<M>(entry: string, title: string, flags: readonly string[] = []): Spawn<M> {
  return (listener) => {
    // Unique, so that the app's word about a gone process finds its process.
    const serviceName = `${title} ${++started}`
    const child = utilityProcess.fork(entry, [], {
      serviceName,
      stdio: 'pipe',
      env: childEnvironment(process.env),
      execArgv: flags.length > 0 ? [`--js-flags=${flags.join(' ')}`] : [],
    })
    let cause: string | null = null
    const onGone = (_event: Electron.Event, details: Details): void => {
      if (details.name === serviceName || details.serviceName === serviceName) cause = reasons[details.reason] ?? null
    }
    app.on('child-process-gone', onGone)
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding?.call(stream, 'utf8')
      stream?.on('data', (text: string | Buffer) => listener.output(String(text)))
    }
    child.on('message', (message: unknown) => listener.message(message))
    child.on('exit', (code) => {
      // The app hears of the reason a moment after the exit.
      setTimeout(() => {
        app.off('child-process-gone', onGone)
        listener.exit(code, cause)
      }, 50)
    })
    return {
      get pid() {
        return child.pid
      },
      send: (message) => child.postMessage(message),
      kill: () => {
        // Not the polite signal of child.kill(): a process deep in a computation would not hear it.
        if (child.pid !== undefined) process.kill(child.pid, 'SIGKILL')
      },
    }
  }
}
