/** Everything that the command palette can find, made when it opens; checkpoints and questions come when main has answered. */
import type { CheckpointView, QuestionSummary } from '../../src-main/bridge/contract'
import { formatBytes, formatCount, formatPercent, plural } from '../lib/format'
import { downloadWords, formatRough, isUnderWay } from '../lib/model-words'
import { isActive, kindWords, stateWord } from '../lib/run-state'
import { ask } from './bridge'
import { datasetsManager } from './datasets-manager.svelte'
import { downloadsManager } from './downloads-manager.svelte'
import { modelsManager } from './models-manager.svelte'
import { draftManager } from './draft-manager.svelte'
import { projectManager } from './project-manager.svelte'
import { resultsManager } from './results-manager.svelte'
import { runsManager } from './runs-manager.svelte'
import { settingsManager } from './settings-manager.svelte'
import { viewManager } from './view-manager.svelte'

export interface PaletteEntry {
  readonly id: string
  readonly group: string
  readonly title: string
  readonly hint: string
  readonly act: () => unknown
}

export function paletteEntries(found: Found): PaletteEntry[] {
  const list: PaletteEntry[] = []
  const add = (group: string, title: string, hint: string, act: () => unknown): void => {
    list.push({ id: `${group}/${list.length}`, group, title, hint, act })
  }
  add('Screens', 'Overview', 'System, pipeline, last results', () => viewManager.open('overview'))
  add('Screens', 'System', 'Style, models, data, training', () => viewManager.open('system'))
  add('Screens', 'Runs', 'Queue and history', () => viewManager.open('runs'))
  add('Screens', 'Checkpoints', 'Trained links on disk', () => viewManager.open('checkpoints'))
  add('Screens', 'Results', 'Comparison and questions', () => viewManager.open('results'))
  add('Screens', 'Datasets', 'Rows, statistics, prompts, fields', () => viewManager.open('datasets'))
  add('Screens', 'Models', 'Library, search, downloads', () => viewManager.open('models'))
  add('Screens', 'Settings', 'Workspace, keys, network, appearance, versions', () => viewManager.open('settings'))

  add('Actions', 'New system', 'style, models, data, training', () => {
    draftManager.make()
    viewManager.open('system')
  })
  const pipeline = projectManager.pipeline
  if (pipeline?.state === 'running') {
    add('Actions', 'Stop the pipeline', '', () => projectManager.stop())
  } else if (pipeline && pipeline.done < pipeline.total) {
    const title = projectManager.project?.demo ? 'Run the demo' : 'Run everything that is missing'
    add('Actions', title, plural(pipeline.total - pipeline.done, 'step'), () => projectManager.run())
  }
  for (const run of runsManager.all) {
    if (run.state === 'running') {
      add('Actions', `Stop: ${run.title}`, '', () => runsManager.cancel(run))
    } else if (run.resumable && run.state !== 'queued' && run.state !== 'stopping') {
      add('Actions', `Resume: ${run.title}`, stateWord(run.state).toLowerCase(), () => runsManager.resume(run))
    }
    if (run.state === 'stopping') add('Actions', `End now: ${run.title}`, '', () => runsManager.cancel(run))
    if (run.step !== null && !isActive(run.state)) {
      add('Actions', `Run again: ${run.title}`, 'a new run from its start', async () => {
        const fresh = await runsManager.again(run)
        if (fresh !== undefined) viewManager.go({ screen: 'runs', run: fresh })
      })
    }
  }
  for (const step of pipeline?.steps ?? []) {
    if (step.state !== 'ready') continue
    add('Actions', `Run the step: ${step.title}`, kindWords[step.kind], () => projectManager.runStep(step.id))
  }
  add('Actions', 'Search the hub', 'models and data sets', () => viewManager.go({ screen: 'models', tab: 'search' }))
  for (const download of downloadsManager.all) {
    if (isUnderWay(download.state)) {
      add('Actions', `Pause the download of ${download.name}`, '', () => downloadsManager.pause(download))
    } else if (download.state !== 'done') {
      const title = `${download.state === 'paused' ? 'Resume' : 'Try again'}: download of ${download.name}`
      add('Actions', title, downloadWords[download.state].word.toLowerCase(), () => downloadsManager.resume(download))
    }
  }
  for (const appearance of ['light', 'dark', 'system'] as const) {
    if (settingsManager.settings?.appearance === appearance) continue
    const title = appearance === 'system' ? 'Appearance: as the system' : `Appearance: ${appearance}`
    add('Actions', title, '', () => settingsManager.setAppearance(appearance))
  }
  for (const run of runsManager.all) {
    const hint = `${kindWords[run.kind]} · ${stateWord(run.state).toLowerCase()}`
    add('Runs', run.title, hint, () => viewManager.go({ screen: 'runs', run: run.id }))
  }
  for (const result of resultsManager.list ?? []) {
    const hint = `${formatPercent(result.accuracy.value)} % · questions`
    add('Results', result.title, hint, () => viewManager.go({ screen: 'results', result: result.id }))
  }
  for (const { id, name, bytes } of datasetsManager.list ?? []) {
    const hint = `data set · ${formatBytes(bytes)}`
    add('Datasets', name, hint, () => viewManager.go({ screen: 'datasets', dataset: id }))
  }
  for (const each of found.checkpoints) {
    const hint = `checkpoint · step ${formatCount(each.step)}${each.best ? ' · best' : ''}`
    const checkpoint = `${each.run}/${each.step}`
    add('Checkpoints', each.runTitle, hint, () => viewManager.go({ screen: 'checkpoints', checkpoint }))
  }
  for (const model of modelsManager.list ?? []) {
    const facts = [model.modelType, model.parameters === null ? null : formatRough(model.parameters)]
    const hint = facts.filter((fact) => fact !== null).join(' · ')
    add('Models', model.name, hint, () => viewManager.go({ screen: 'models', tab: 'library', model: model.id }))
  }
  for (const { result, title, rows } of found.questions) {
    for (const { index, rollout, question } of rows) {
      const place = { screen: 'results', result, question: index, ...(rollout > 0 ? { rollout } : {}) } as const
      add('Questions', `${index + 1}: ${question}`, title, () => viewManager.go(place))
    }
  }
  return list
}

/** What only main knows. */
export interface Found {
  readonly checkpoints: readonly CheckpointView[]
  readonly questions: readonly { result: string; title: string; rows: readonly QuestionSummary[] }[]
}

export const nothingFound: Found = { checkpoints: [], questions: [] }

/** Checkpoints, and the questions of the evaluation that is open (else of the newest) that hold `words`. */
export async function askPalette(words: string): Promise<Found> {
  const project = projectManager.name
  if (project === undefined) return nothingFound
  const result = resultsManager.get(viewManager.place.result ?? '') ?? resultsManager.list?.[0]
  const [{ checkpoints }, rows] = await Promise.all([
    ask('checkpoints/list', { project }),
    result && words.trim() !== ''
      ? ask('results/questions', { project, result: result.id, search: words.trim().slice(0, 200), limit: 20 })
      : undefined,
  ])
  return { checkpoints, questions: result && rows ? [{ result: result.id, title: result.title, rows: rows.rows }] : [] }
}
