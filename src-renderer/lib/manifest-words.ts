/** What a checkpoint's manifest says, in words: its links, how they were trained, and what was measured. */
import type { SystemPicture } from '../../src-main/bridge/contract'
import { formatCount, formatNumber, formatPercent, plural } from './format'

export interface ManifestWords {
  readonly links: readonly { readonly name: string; readonly type: string; readonly widths: string }[]
  readonly facts: readonly { readonly name: string; readonly value: string }[]
  readonly metrics: readonly { readonly name: string; readonly value: string }[]
}

type Fields = Readonly<Record<string, unknown>>

/** Fields that are absent or of another shape are left out: the file as it is stands below. */
export function manifestWords(manifest: Fields, system: SystemPicture | null): ManifestWords {
  const models = list(manifest.baseModels).map(fields)
  const links = list(manifest.links)
    .map(fields)
    .map((link) => ({
      name: linkName(link, manifest, models, system),
      type: typeWords(String(link.type ?? '')),
      widths: `${String(link.inWidth ?? '?')} → ${String(link.outWidth ?? '?')}`,
    }))
  const data = fields(manifest.dataset)
  const rounds = fields(manifest.rounds)
  const facts: [string, string | null][] = [
    ['Style', text(manifest.style)],
    ['Models', models.map((model) => describeModel(model)).join(', ') || null],
    ['Rounds', typeof rounds.from === 'number' ? span(rounds.from, Number(rounds.to ?? rounds.from)) : null],
    ['Mode', text(manifest.mode)],
    ['States', text(manifest.states)],
    ['Feedback', text(manifest.feedback)],
    ['Data', typeof data.file === 'string' ? describeData(data.file, data) : null],
    ['Seed', typeof manifest.seed === 'number' ? String(manifest.seed) : null],
    ['App', text(manifest.appVersion)],
  ]
  const metrics = Object.entries(fields(manifest.metrics)).flatMap(([name, value]) =>
    typeof value === 'number' ? [{ name, value: measured(name, value) }] : [],
  )
  return {
    links,
    facts: facts.flatMap(([name, value]) => (value === null ? [] : [{ name, value }])),
    metrics,
  }
}

function linkName(link: Fields, manifest: Fields, models: readonly Fields[], system: SystemPicture | null): string {
  const key = String(link.key ?? '')
  if (typeof manifest.role === 'string') return `${manifest.role}, inner link`
  const known = system?.links.find((candidate) => candidate.key === key)
  if (known) return `${known.from} → ${known.to}`
  // outer_12: from the first agent to the second, where each has one digit.
  const [, from, to] = /^outer_(\d)(\d)$/.exec(key) ?? []
  const roles = [from, to].map((place) => text(models[Number(place) - 1]?.role))
  return roles[0] !== null && roles[1] !== null ? `${roles[0]} → ${roles[1]}` : key
}

/** "two layers, residual, normalised (outer_ln_res_adapter)". */
function typeWords(type: string): string {
  const layers = type.includes('linear') ? 'one layer' : 'two layers'
  const parts = [
    layers,
    ...(type.includes('res_') ? ['residual'] : []),
    ...(type.includes('ln_') ? ['normalised'] : []),
  ]
  return `${parts.join(', ')} (${type})`
}

function describeModel(model: Fields): string {
  const revision = text(model.revision)
  const id = `${String(model.id ?? '?')}${revision === null ? '' : ` at ${revision.slice(0, 12)}`}`
  const role = text(model.role)
  return role === null || role === model.id ? id : `${role}: ${id}`
}

function describeData(file: string, { rows, columns }: Fields): string {
  const name = file.split(/[/\\]/).at(-1) ?? file
  const read = Object.entries(fields(columns)).map(([wanted, column]) => `${wanted} from ${String(column)}`)
  return [name, ...(typeof rows === 'number' ? [plural(rows, 'row')] : []), ...read].join(', ')
}

function span(from: number, to: number): string {
  return from === to ? formatCount(from) : `${formatCount(from)} to ${formatCount(to)}`
}

/** Shares of right answers read as percent. */
function measured(name: string, value: number): string {
  const share = /accuracy|right/.test(name) && value >= 0 && value <= 1
  return share ? `${formatPercent(value)}\u00a0%` : formatNumber(value)
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function fields(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
}
