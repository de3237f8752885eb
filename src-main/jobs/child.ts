/** A process of ours, and main's end of the line to it. `M`: what main says. */
export interface Child<M> {
  readonly pid: number | undefined
  send(message: M): void
  /** Ends the process at once, whatever it is doing. */
  kill(): void
}

/** What main hears of a process. */
export interface ChildListener {
  message(message: unknown): void
  /** Text on standard output or standard error. */
  output(text: string): void
  /** Comes last, exactly once; `cause` in words where it is known. */
  exit(code: number | null, cause: string | null): void
}

/** Starts a process. It may throw or call `exit` at once where the process cannot be started. */
export type Spawn<M> = (listener: ChildListener) => Child<M>
