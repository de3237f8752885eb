/** What is remembered for each data set over a restart, of those that were used last. */
import { untrack } from 'svelte'
import { settingsManager } from './settings-manager.svelte'

/** Sets of which something is remembered under one key, and characters of it all: main takes 64 KiB for one key. */
const most = { sets: 30, characters: 60_000 }

export class DatasetMemory<T> {
  constructor(
    private readonly key: string,
    private readonly accepts: (value: unknown) => value is T,
  ) {}

  /** `dataset`: its id, or that of a file of it. Nobody is told of changes. */
  recall(dataset: string): T | undefined {
    return this.#all().find(([id]) => id === dataset)?.[1]
  }

  /** undefined: nothing. */
  remember(dataset: string, value: T | undefined): void {
    const others = this.#all().filter(([id]) => id !== dataset)
    const all = value === undefined ? others : [...others, [dataset, value] as const].slice(-most.sets)
    while (all.length > 0 && JSON.stringify(all).length > most.characters) all.shift()
    settingsManager.remember(this.key, all)
  }

  /** By set, the longest unused first. */
  #all(): readonly (readonly [string, T])[] {
    const isEntry = (entry: unknown): boolean =>
      Array.isArray(entry) && entry.length === 2 && typeof entry[0] === 'string' && this.accepts(entry[1])
    const accepts = (value: unknown): value is [string, T][] => Array.isArray(value) && value.every(isEntry)
    return untrack(() => settingsManager.recall(this.key, [], accepts))
  }
}

/** An object with nothing but such values. */
export function isRecordOf<T>(value: unknown, accepts: (value: unknown) => value is T): value is Record<string, T> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.values(value).every(accepts)
}
