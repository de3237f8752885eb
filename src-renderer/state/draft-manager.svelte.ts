/** The system that is being made: its choices, what main says of them, and the step of the wizard that is shown. */
import type {
  DatasetEntry,
  DraftProblem,
  DraftReport,
  ModelView,
  StudioError,
  StyleView,
  SystemDraft,
} from '../../src-main/bridge/contract'
import { isDraft, newDraft } from '../lib/draft'
import { ask, listen } from './bridge'
import { datasetsManager } from './datasets-manager.svelte'
import { modelsManager } from './models-manager.svelte'
import { Resource } from './resource.svelte'
import { projectManager } from './project-manager.svelte'
import { settingsManager } from './settings-manager.svelte'

export const wizardSteps = ['style', 'models', 'data', 'training', 'check'] as const
export type WizardStep = (typeof wizardSteps)[number]

/** Milliseconds after the last change before main is asked what it comes to. */
const pause = 400

class DraftManager {
  #draft = $state.raw<SystemDraft | null>(null)
  #step = $state<WizardStep>('style')
  #seen = $state.raw<readonly WizardStep[]>([])
  #report = new Resource<DraftReport>()
  #stale = $state(false)
  #timer: ReturnType<typeof setTimeout> | undefined
  #styles = new Resource<readonly StyleView[]>()

  get draft(): SystemDraft | null {
    return this.#draft
  }

  get step(): WizardStep {
    return this.#step
  }

  get report(): DraftReport | undefined {
    return this.#report.value
  }

  /** Whether what is shown belongs to choices that were changed since. */
  get checking(): boolean {
    return this.#stale
  }

  get styles(): readonly StyleView[] {
    return this.#styles.value ?? []
  }

  get style(): StyleView | undefined {
    return this.styles.find(({ name }) => name === this.#draft?.style)
  }

  /** undefined until they are known. */
  get models(): readonly ModelView[] | undefined {
    return modelsManager.list
  }

  get datasets(): readonly DatasetEntry[] | undefined {
    return datasetsManager.list
  }

  get error(): StudioError | undefined {
    return this.#styles.error ?? modelsManager.error ?? datasetsManager.error ?? this.#report.error
  }

  /** Takes up a draft that the last session left. */
  start(): void {
    this.#draft = settingsManager.recall('draft', null, isDraft)
    for (const event of ['models/changed', 'datasets/changed'] as const)
      listen(event, () => {
        if (this.#draft) this.#ask()
      })
    if (this.#draft) void this.#begin()
  }

  /** A fresh draft, or one made of another's choices. */
  make(from?: SystemDraft): void {
    this.#draft = newDraft(from)
    this.#step = 'style'
    this.#seen = []
    this.#report.clear()
    void this.#begin()
    this.#keep()
  }

  discard(): void {
    this.#draft = null
    this.#report.clear()
    clearTimeout(this.#timer)
    settingsManager.remember('draft', null)
  }

  show(step: WizardStep): void {
    if (!this.#seen.includes(this.#step)) this.#seen = [...this.#seen, this.#step]
    this.#step = step
  }

  change(change: (draft: SystemDraft) => SystemDraft): void {
    if (!this.#draft) return
    this.#draft = change(this.#draft)
    this.#keep()
    this.#ask()
  }

  problemsOf(step: WizardStep): readonly DraftProblem[] {
    return this.report?.problems.filter((problem) => problem.step === step) ?? []
  }

  /** `open` before it was looked at; its worst problem, else `ok`. */
  stateOf(step: WizardStep): 'open' | 'ok' | 'warning' | 'error' {
    // the last step stands for all
    const problems = step === 'check' ? (this.report?.problems ?? []) : this.problemsOf(step)
    const levels = problems.map(({ level }) => level)
    if (!this.#seen.includes(step) && step !== this.#step) return 'open'
    if (levels.includes('error')) return 'error'
    if (levels.includes('warning')) return 'warning'
    return this.report ? 'ok' : 'open'
  }

  /** Makes the project and opens it. Throws where main refuses. */
  async create(): Promise<void> {
    if (!this.#draft) return
    const { name } = await ask('systems/create', { draft: this.#draft })
    this.discard()
    await projectManager.open(name)
  }

  async #begin(): Promise<void> {
    await this.#styles.load(async () => (await ask('styles/list', {})).styles)
    this.#ask()
  }

  #keep(): void {
    settingsManager.remember('draft', this.#draft)
  }

  #ask(): void {
    clearTimeout(this.#timer)
    this.#stale = true
    this.#timer = setTimeout(async () => {
      const draft = this.#draft
      if (!draft) return
      await this.#report.load(() => ask('systems/check', { draft }))
      if (draft === this.#draft) this.#stale = false
    }, pause)
  }
}

export const draftManager = new DraftManager()
