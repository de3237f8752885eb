/**
 * Custom styles: a JSON file that names any number of agents and links, who writes the answer, and the prompts.
 *
 *     {
 *       "format": "recursivemas-style/1", "name": "ring",
 *       "agents": [{ "role": "asker", "target": "questions" }, { "role": "answerer", "target": "answer" }],
 *       "links": [{ "key": "ask", "from": "asker", "to": "answerer" }, { "key": "reply", "from": "answerer", "to": "asker" }],
 *       "answers": "answerer",
 *       "prompts": { "asker": { "first": ["Question: {{question}}"], "feedback": ["…", "{{slot:reply}}"] }, … }
 *     }
 *
 * Agents think in the order in which they stand: a link to a later agent is read in the same round, one to an earlier agent (or to
 * the sender) in the next. An agent that such feedback reaches needs the prompt `feedback` beside `first`; a prompt has one slot for
 * each link that it reads, called after the link, the role that it comes from, or a column of that role's text (slot-names.ts).
 */
import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import { UserError } from '../errors'
import { readableFileSize } from '../formats/disk-errors'
import { checkJson } from '../formats/schema-faults'
import { builtInPack, loadPromptPack, parsePromptPack, type PromptPack } from '../text'
import { isStyleFile, roleIn, styleByName, styleOfRole, styles, unknownRole } from './registry'
import { withSlotOrder } from './row-prompts'
import type { StyleDefinition, StyleLink } from './style'

export const STYLE_FORMAT = 'recursivemas-style/1'

const name = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_-]*$/, 'a name starts with a letter and has letters, digits, - and _')
const column = z.string().min(1)

const styleFile = z.strictObject({
  format: z.literal(STYLE_FORMAT),
  name,
  agents: z
    .array(
      z.strictObject({
        role: name,
        /** Column of the training data that holds this role's text, or several of which the first that is not blank in a row counts. */
        target: z.union([column, z.array(column).min(1)]),
      }),
    )
    .min(1),
  /** In creation order. */
  links: z.array(z.strictObject({ key: name, from: name, to: name })).min(1),
  /** The role that writes the text of the last round, and is supervised. */
  answers: name,
  /** Role -> variant (`first`, `feedback`) -> user message, as in a prompt pack; these go before those of the pack in use, whose parts they may name. */
  prompts: z.record(name, z.record(name, z.unknown())).default({}),
  /** The pack of this style, where a job names none; counts from the style file's folder. Default: the built-in pack. */
  promptPack: z.string().min(1).optional(),
})
type StyleFile = z.infer<typeof styleFile>

export interface OpenedStyle {
  readonly style: StyleDefinition
  /** The pack that a job's agents are asked with. */
  readonly pack: PromptPack
}

/** The style of a job, by name or from a file, and its prompts. UserErrors name what is wrong with either. */
export async function openStyle(style: string, promptPack: string | undefined): Promise<OpenedStyle> {
  if (!isStyleFile(style)) return ordered(styleByName(style), await openPack(promptPack))
  const file = parseStyleFile(await readText(style), style)
  const own = file.promptPack === undefined ? undefined : resolve(dirname(style), file.promptPack)
  const pack = await openPack(promptPack ?? own)
  return ordered(definitionOf(file), withPrompts(pack, file, style))
}

const ordered = (style: StyleDefinition, pack: PromptPack): OpenedStyle => ({ style: withSlotOrder(style, pack), pack })

/** The style that has a role, the role's agent index, and its prompts: the job's style, else the built-in one that has it. */
export async function openRole(
  role: string,
  style: string | undefined,
  promptPack: string | undefined,
): Promise<OpenedStyle & { readonly agent: number }> {
  if (style === undefined) {
    const found = styleOfRole(role)
    return { ...ordered(found.style, await openPack(promptPack)), agent: found.agent }
  }
  const opened = await openStyle(style, promptPack)
  const agent = roleIn(opened.style, role)
  if (agent < 0) throw unknownRole(role, [opened.style])
  return { ...opened, agent }
}

/** The pack that a job of that style (absent: a built-in one) asks its agents with. */
export async function packOf(style: string | undefined, promptPack: string | undefined): Promise<PromptPack> {
  return style === undefined ? openPack(promptPack) : (await openStyle(style, promptPack)).pack
}

async function openPack(path: string | undefined): Promise<PromptPack> {
  return path === undefined ? builtInPack : loadPromptPack(path)
}

function refusal(source: string, why: string): UserError {
  return new UserError({
    what: 'The style file cannot be used.',
    why: `${source}: ${why}.`,
    next: 'Correct that place of the file and start again.',
  })
}

async function readText(file: string): Promise<string> {
  try {
    await readableFileSize(file, 'style file')
    return await readFile(file, 'utf8')
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    const next = `Choose a style file (JSON), or one of the styles ${styles.map((s) => s.name).join(', ')}.`
    throw new UserError({ what: error.what, why: error.why, next }, { cause: error })
  }
}

/** What the schema says, and that the names hang together. `source` is named in errors. */
function parseStyleFile(text: string, source: string): StyleFile {
  const checked = checkJson(styleFile, text)
  if (!checked.ok) throw refusal(source, checked.why)
  const file = checked.data
  const refuse = (path: string, why: string) => refusal(source, `${path}: ${why}`)
  const roles = file.agents.map((a) => a.role)
  const known = `the agents are ${roles.join(', ')}`
  if (styles.some((s) => s.name === file.name)) throw refuse('name', `"${file.name}" is a style of its own already`)
  roles.forEach((role, i) => {
    if (roles.indexOf(role) < i) throw refuse(`agents.${i}.role`, `two agents have the name "${role}"`)
  })
  if (!roles.includes(file.answers)) throw refuse('answers', `there is no role "${file.answers}" (${known})`)
  file.links.forEach(({ key, from, to }, i) => {
    for (const [end, role] of [
      ['from', from],
      ['to', to],
    ] as const)
      if (!roles.includes(role)) throw refuse(`links.${i}.${end}`, `there is no role "${role}" (${known})`)
    const earlier = file.links.slice(0, i)
    if (earlier.some((l) => l.key === key)) throw refuse(`links.${i}.key`, `two links have the name "${key}"`)
    if (earlier.some((l) => l.from === from && l.to === to))
      throw refuse(`links.${i}`, `there is a link from ${from} to ${to} already`)
  })
  for (const role of Object.keys(file.prompts))
    if (!roles.includes(role)) throw refuse(`prompts.${role}`, `there is no role "${role}" (${known})`)
  const lost = unheard(file)
  if (lost.length > 0)
    throw refuse(
      'links',
      `what ${lost.join(' and ')} ${lost.length === 1 ? 'thinks' : 'think'} never reaches ${file.answers}, who writes the text` +
        (inACycle(file, lost) ? ': a cycle that never yields any' : ''),
    )
  return file
}

/** Roles from which no way over links, in whatever round, leads to the one that answers. */
function unheard(file: StyleFile): string[] {
  const heard = new Set([file.answers])
  for (let size = 0; size < heard.size;) {
    size = heard.size
    for (const { from, to } of file.links) if (heard.has(to)) heard.add(from)
  }
  return file.agents.map((a) => a.role).filter((role) => !heard.has(role))
}

function inACycle(file: StyleFile, roles: readonly string[]): boolean {
  const next = (of: Iterable<string>) =>
    new Set(file.links.filter((l) => [...of].includes(l.from) && roles.includes(l.to)).map((l) => l.to))
  return roles.some((start) => {
    let reached = next([start])
    for (let steps = 0; steps < roles.length && !reached.has(start); steps++) reached = next([...reached])
    return reached.has(start)
  })
}

function definitionOf(file: StyleFile): StyleDefinition {
  const roles = file.agents.map((a) => a.role)
  const links = file.links.map(({ key, from, to }): StyleLink => ({
    key,
    source: roles.indexOf(from),
    target: roles.indexOf(to),
  }))
  return {
    name: file.name,
    agentCount: roles.length,
    roles: file.agents.map(({ role, target }) => ({
      role,
      targets: (typeof target === 'string' ? [target] : target) as [string, ...string[]],
    })),
    links,
    last: roles.indexOf(file.answers),
  }
}

/** The pack with the style's own prompts in it, checked as any pack. */
function withPrompts(pack: PromptPack, file: StyleFile, source: string): PromptPack {
  if (Object.keys(file.prompts).length === 0) return pack
  return parsePromptPack(
    { ...pack, name: `${pack.name}, style ${file.name}`, prompts: { ...pack.prompts, ...file.prompts } },
    source,
  )
}
