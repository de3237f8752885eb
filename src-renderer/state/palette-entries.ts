/** Everything that the command palette can find, made when it opens. */
import { formatPercent, plural } from '../lib/format'
import { kindWords, stateWord } from '../lib/run-state'
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

export function paletteEntries(): PaletteEntry[] {
  const list: PaletteEntry[] = []
  const add = (group: string, title: string, hint: string, act: () => unknown): void => {
    list.push({ id: `${group}/${list.length}`, group, title, hint, act })
  }
  add('Screens', 'Overview', 'System, pipeline, last results', () => viewManager.open('overview'))
  add('Screens', 'Runs', 'Queue and history', () => viewManager.open('runs'))
  add('Screens', 'Checkpoints', 'Trained links on disk', () => viewManager.open('checkpoints'))
  add('Screens', 'Results', 'Comparison and questions', () => viewManager.open('results'))
  add('Screens', 'Settings', 'Workspace, appearance, versions', () => viewManager.open('settings'))

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
  return list
}
