/** At most so many at once. */
export class Slots {
  private readonly waiting: (() => void)[] = []

  constructor(private free: number) {}

  async within<T>(action: () => Promise<T>): Promise<T> {
    if (this.free > 0) this.free--
    else await new Promise<void>((resolve) => this.waiting.push(resolve))
    try {
      return await action()
    } finally {
      const next = this.waiting.shift()
      if (next) next()
      else this.free++
    }
  }
}
