/** What is said of models, downloads and hubs, in words: pure functions of what main tells. */
import type {
  DownloadState,
  DownloadView,
  MemoryFit,
  ModelView,
  RepositoryKind,
  UsedBy,
} from '../../src-main/bridge/contract'
import { formatBytes, formatDuration, plural } from './format'
import type { Tone } from './run-state'

const nbsp = '\u00a0'

export const fitWords: Record<MemoryFit['verdict'], { word: string; tone: Tone }> = {
  fits: { word: 'Fits', tone: 'good' },
  tight: { word: 'Tight', tone: 'warning' },
  'too-large': { word: 'Too large', tone: 'bad' },
}

export const modelStateWords: Record<ModelView['state'], { word: string; tone: Tone }> = {
  ready: { word: 'Ready', tone: 'good' },
  incomplete: { word: 'Incomplete', tone: 'warning' },
  unusable: { word: 'Unusable', tone: 'bad' },
}

export const downloadWords: Record<DownloadState, { word: string; tone: Tone }> = {
  queued: { word: 'Queued', tone: 'neutral' },
  preparing: { word: 'Preparing', tone: 'active' },
  running: { word: 'Downloading', tone: 'active' },
  waiting: { word: 'Waiting to try again', tone: 'warning' },
  checking: { word: 'Checking', tone: 'active' },
  paused: { word: 'Paused', tone: 'warning' },
  failed: { word: 'Failed', tone: 'bad' },
  done: { word: 'Done', tone: 'good' },
}

export const kindNouns: Record<RepositoryKind, string> = { model: 'model', dataset: 'data set' }

/** The hub is busy with it, or will be by itself. */
export function isUnderWay(state: DownloadState): boolean {
  return state !== 'paused' && state !== 'failed' && state !== 'done'
}

/** A large count of which only the size matters, such as parameters or downloads: "1.7 B", "494 M", "4.1 k", "812". */
export function formatRough(count: number): string {
  const units = [
    { unit: 1e9, letter: 'B' },
    { unit: 1e6, letter: 'M' },
    { unit: 1e3, letter: 'k' },
  ]
  // What would be rounded to 1000 of a unit is 1.0 of the next.
  const found = units.find(({ unit }) => count >= 0.9995 * unit)
  if (!found) return count.toFixed(0)
  const value = count / found.unit
  return `${value.toFixed(value >= 99.95 ? 0 : 1)}${nbsp}${found.letter}`
}

/** Its files are all there, so that they can be compared with their checksums. */
export function canBeChecked({ state }: ModelView): boolean {
  return state !== 'incomplete'
}

/** The first letters of a commit, as hubs show it. */
export function shortCommit(commit: string): string {
  return commit.slice(0, 7)
}

/** "huggingface.co" of an address. */
export function hostOf(endpoint: string): string {
  return URL.canParse(endpoint) ? new URL(endpoint).host : endpoint
}

/** Who uses something, within a sentence: "Demo (planner, critic)", "Demo and Maths", "Demo and 3 more projects". */
export function userWords(users: readonly UsedBy[]): string {
  const [{ title, as }] = users
  if (users.length === 1) return as.length > 0 && as.length < 5 ? `${title} (${as.join(', ')})` : title
  return `${title} and ${users.length === 2 ? users[1].title : `${plural(users.length - 1, 'more project')}`}`
}

/** "1.2 of 3.4 GB", or what is there where the whole is not known. */
export function bytesOf(done: number, total: number | null): string {
  if (total === null) return formatBytes(done)
  const [all, part] = [formatBytes(total), formatBytes(done)]
  const unit = (text: string): string => text.slice(text.indexOf(nbsp))
  return `${unit(all) === unit(part) ? part.slice(0, part.indexOf(nbsp)) : part} of ${all}`
}

/** How far a download is, its rate and what is left: the parts that are known. */
export function downloadFacts(download: DownloadView): string[] {
  const { bytes, total, rate, secondsLeft, files, state } = download
  if (state === 'done') return total === null ? [] : [formatBytes(total)]
  const facts = total === null && bytes === 0 ? [] : [bytesOf(bytes, total)]
  if (files && files.total > 1) facts.push(`${files.done} of ${files.total}${nbsp}files`)
  if (state === 'running' && rate !== null) facts.push(`${formatBytes(rate)}/s`)
  if (state === 'running' && secondsLeft !== null) facts.push(`${formatDuration(secondsLeft)}${nbsp}left`)
  return facts
}

/** How far the downloads that go on are, together: a fraction, of those whose size is known; null where none is. */
export function overallProgress(downloads: readonly DownloadView[]): number | null {
  const open = downloads.filter(({ state }) => isUnderWay(state)).filter(({ total }) => total !== null)
  const total = open.reduce((sum, download) => sum + (download.total ?? 0), 0)
  return total === 0 ? null : open.reduce((sum, { bytes }) => sum + bytes, 0) / total
}
