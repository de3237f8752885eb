/** The time that relative times are counted from; ticks only while something on screen reads it. */
import { createSubscriber } from 'svelte/reactivity'

const everyMs = 5000

class Clock {
  #subscribe = createSubscriber((update) => {
    const timer = setInterval(update, everyMs)
    return () => clearInterval(timer)
  })

  /** Milliseconds since 1970. */
  get now(): number {
    this.#subscribe()
    return Date.now()
  }
}

export const clock = new Clock()
