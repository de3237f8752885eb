/** Where in the app the person is, how they came there, and back to it after a restart. */
import { settingsManager } from './settings-manager.svelte'

export const screens = [
  'overview',
  'system',
  'runs',
  'checkpoints',
  'results',
  'datasets',
  'models',
  'settings',
] as const
export type Screen = (typeof screens)[number]
/** Parts of the Models screen. */
export const modelTabs = ['library', 'search', 'downloads'] as const
export type ModelTab = (typeof modelTabs)[number]

export interface Place {
  readonly screen: Screen
  /** The run that the Runs screen shows. */
  readonly run?: string
  /** The checkpoint that the Checkpoints screen shows: run/step. */
  readonly checkpoint?: string
  /** The evaluation whose questions the Results screen shows. */
  readonly result?: string
  /** The question that is open. */
  readonly question?: number
  /** Which of several answers to it; the first where absent. */
  readonly rollout?: number
  /** The data set that the Datasets screen shows. */
  readonly dataset?: string
  /** The part of the Models screen that is open; the library where absent. */
  readonly tab?: ModelTab
  /** The model of the library that the Models screen shows. */
  readonly model?: string
  /** The repository of the hub that it shows. */
  readonly repository?: string
}

class ViewManager {
  #place = $state.raw<Place>({ screen: 'overview' })
  #past = $state.raw<readonly Place[]>([])
  #future = $state.raw<readonly Place[]>([])
  /** Each screen opens as it was left. */
  #left = new Map<Screen, Place>()
  paletteOpen = $state(false)

  get place(): Place {
    return this.#place
  }

  get screen(): Screen {
    return this.#place.screen
  }

  get canGoBack(): boolean {
    return this.#past.length > 0
  }

  get canGoForward(): boolean {
    return this.#future.length > 0
  }

  /** Takes up where the last session ended; call once the settings are known. */
  start(): void {
    this.#place = settingsManager.recall('place', { screen: 'overview' }, isPlace)
    for (const place of settingsManager.recall('left', [], isPlaces)) this.#left.set(place.screen, place)
  }

  /** Shows a screen in the state in which it was left. */
  open(screen: Screen): void {
    this.go(this.#left.get(screen) ?? { screen })
  }

  go(place: Place): void {
    if (JSON.stringify(place) === JSON.stringify(this.#place)) return
    this.#past = [...this.#past, this.#place].slice(-50)
    this.#future = []
    this.#show(place)
  }

  /** Changes the place without a step in the history, for moves inside one list. */
  replace(place: Place): void {
    this.#show(place)
  }

  back(): void {
    const place = this.#past.at(-1)
    if (!place) return
    this.#past = this.#past.slice(0, -1)
    this.#future = [this.#place, ...this.#future]
    this.#show(place)
  }

  forward(): void {
    const [place, ...rest] = this.#future
    if (!place) return
    this.#future = rest
    this.#past = [...this.#past, this.#place]
    this.#show(place)
  }

  #show(place: Place): void {
    this.#place = place
    this.#left.set(place.screen, place)
    settingsManager.remember('place', place)
    settingsManager.remember('left', [...this.#left.values()])
  }
}

export const viewManager = new ViewManager()

function isPlace(value: unknown): value is Place {
  if (typeof value !== 'object' || value === null) return false
  const { screen, run, checkpoint, result, question, rollout, dataset, tab, model, repository } = value as Record<
    string,
    unknown
  >
  const optional = (field: unknown, type: string): boolean => field === undefined || typeof field === type
  return (
    screens.some((name) => name === screen) &&
    optional(run, 'string') &&
    optional(checkpoint, 'string') &&
    optional(result, 'string') &&
    optional(question, 'number') &&
    optional(rollout, 'number') &&
    optional(dataset, 'string') &&
    (tab === undefined || modelTabs.some((name) => name === tab)) &&
    optional(model, 'string') &&
    optional(repository, 'string')
  )
}

function isPlaces(value: unknown): value is Place[] {
  return Array.isArray(value) && value.every(isPlace)
}
