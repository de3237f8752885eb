/**
 * The evaluation job: every question of a data set through a system, one line per answer as it comes, one result at the end.
 * Questions of similar length run together, the longest first; what is answered already is not asked again.
 */
import { appendFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describeLeftOut } from '../data/rows'
import { UserError } from '../errors'
import { writeFileWhole, writeJsonWhole } from '../formats/atomic-files'
import { explainingDiskErrors } from '../formats/disk-errors'
import type { JobContext } from '../job-context'
import {
  freshLinkType,
  type GivenLinks,
  openMembers,
  openTeam,
  promptSettings,
  readLinks,
  type Resources,
} from '../job-setup'
import type { JobEventOf } from '../job-events'
import type { AgentSpec, EvaluateJob } from '../job-spec'
import { smallSessionBytes } from '../memory/runtime-share'
import { garbageBytes, rowsBytes } from '../memory/text-memory'
import { TorchGenerator } from '../nn/torch-generator'
import { isSearched } from '../released/recommended'
import { checkPrompts } from '../styles/check-prompts'
import { checkLinkKeys, inRoleOrder, roleIn } from '../styles/registry'
import { agentStage, type PromptSettings } from '../styles/row-prompts'
import { usualShortestPrefix } from '../styles/stage-text'
import type { StyleDefinition } from '../styles/style'
import { openStyle } from '../styles/style-file'
import type { OuterLink, Team } from '../styles/team'
import { answerRetrySuffix, promptPackHash } from '../text'
import { answerWork } from './answer-memory'
import { answer, type AnswerSettings, type System } from './answer'
import { type Question, readQuestions } from './questions'
import { resultRecord, sampleRecord, type ResultRecord, type SampleRecord } from './sample-record'
import { wilson } from './statistics'

export type EvaluationEnd = Pick<JobEventOf<'finished'>, 'accuracy' | 'strictAccuracy'>

export const samplesFile = (output: string): string => join(output, 'samples.jsonl')
export const resultFile = (output: string): string => join(output, 'result.json')

export async function evaluate(ctx: JobContext, job: EvaluateJob, resources: Resources): Promise<EvaluationEnd> {
  const { style, pack } = await openStyle(job.style, job.promptPack)
  const agents = agentsOf(style, job)
  checkLinkKeys(style, Object.keys(job.linkTypes))
  checkControl(job)
  const given =
    job.passing === 'latents' ? await readLinks(style, agents as readonly AgentSpec[], job.outerLinks, job.task) : null
  const { questions, report } = await readQuestions(job.data, {
    task: job.task,
    questionColumn: job.questionColumn,
    answerColumn: job.answerColumn,
    resultMark: job.grader === 'math',
    seed: job.seed,
  })
  const leftOut = describeLeftOut(report)
  if (leftOut) ctx.warn(leftOut)
  if (job.control === 'other-questions' && questions.length < 2)
    throw new UserError({
      what: 'The control "other-questions" needs other questions.',
      why: `The data has ${questions.length} that can be used.`,
      next: 'Give more data, or choose another control.',
    })
  const asked = new Set(questions.map((q) => q.facts.task))
  checkPrompts(promptSettings(job, style, pack), {
    agents: agents.flatMap((a, i) => (a ? [i] : [])),
    rounds: job.passing === 'single' ? 1 : job.rounds,
    tasks: asked,
  })
  if (job.generation.answerRetry) for (const task of asked) answerRetrySuffix(pack, { task, mode: job.mode })
  if (job.grader === 'math' && asked.has('code'))
    ctx.warn(
      'Programs are not run in this version: the answers to tasks of code are compared with the gold text as they are.',
    )
  if (job.system?.benchmark && isSearched(job.system.benchmark))
    ctx.warn(
      `The questions of ${job.system.benchmark} are meant to be answered by searching the web; in this version no agent searches.`,
    )
  const models = await Promise.all(agents.map(async (a) => (a ? resources.model(a.model) : null)))
  if (job.generation.sample) for (const m of models) m?.text.generation.warnings.forEach((w) => ctx.warn(w))
  const prompts = promptSettings(
    job,
    style,
    pack,
    models.map((m) => m?.text ?? null),
  )
  const system: System = {
    agents: models.map((m) => m?.agent ?? null),
    team: given ? await openLinks(job, style, agents as readonly AgentSpec[], given, resources) : null,
  }
  await settleMemory(ctx, job, prompts, questions, system, resources)
  const records = ctx.resume ? await answeredSoFar(job, questions) : new Map<number, SampleRecord[]>()
  await ctx.begin()
  ctx.say({ kind: 'started', job: 'evaluate', resumedFrom: ctx.resume ? records.size : null })
  await writeFileWhole(samplesFile(job.output), [...records.values()].map(lines))
  const progress = ctx.progress('questions', 'Answering questions', questions.length, 'questions', records.size)
  const ordered = inOrder(questions)
  const settings: AnswerSettings = {
    ...job,
    prompts,
    answerRetry: job.generation.answerRetry,
    keepStages: job.keepLatents,
    shortestPrefix: usualShortestPrefix,
    checkpoint: () => ctx.checkpoint(),
    onWriting: (writing) => progress.writing(writing),
    ...(job.control === 'other-questions'
      ? { latentsOf: (q) => ordered[(ordered.indexOf(q) + 1) % ordered.length] }
      : {}),
  }
  const spent = [...records.values()].reduce((n, [r]) => n + (r.seconds ?? 0), 0)
  const started = performance.now()
  for (const batch of batches(
    ordered.filter((q) => !records.has(q.index)),
    job.batchSize,
  )) {
    await ctx.checkpoint()
    const answered = await answer(system, batch, settings)
    for (const [k, own] of answered.entries()) {
      await explainingDiskErrors({ folder: job.output, doing: 'An answer could not be saved' }, () =>
        appendFile(samplesFile(job.output), lines(own)),
      )
      records.set(batch[k].index, own)
      const [first] = own
      ctx.say({ kind: 'question', index: first.index, correct: own.some((r) => r.correct), strict: strictOf(own) })
      progress.add()
    }
  }
  return finish(job, prompts, questions, records, spent + (performance.now() - started) / 1000)
}

/** By the longest questions, as their prompts are in the first rounds. */
async function settleMemory(
  ctx: JobContext,
  job: EvaluateJob,
  prompts: PromptSettings,
  questions: readonly Question[],
  system: System,
  resources: Resources,
): Promise<void> {
  const { style } = prompts
  const longest = inOrder(questions).slice(0, 4)
  const lengths = new Map<string, { whole: number; before: number }>()
  for (const [agent, there] of system.agents.entries())
    for (const round of there ? [0, 1] : []) {
      const stages = await Promise.all(longest.map((q) => agentStage(prompts, q.facts, agent, round)))
      const most = (of: (ids: readonly (readonly number[])[]) => number) =>
        Math.max(1, ...stages.map((s) => of(s.prompt.ids)))
      lengths.set(`${agent} ${round}`, {
        whole: most((ids) => ids.reduce((n, piece) => n + piece.length, 0)),
        before: most((ids) => (ids.length > 1 ? ids[0].length : 0)),
      })
    }
  const work = answerWork(style, job, (agent, round) => lengths.get(`${agent} ${Math.min(round, 1)}`)!)
  const links = system.team ? [...system.team.members.map((m) => m.inner), ...system.team.links] : []
  const parameters = links.flatMap((link) => Object.values(link.parameters))
  const turns = job.rounds * system.agents.length
  // what an agent thinks, and what a link makes of it
  const widest = Math.max(...system.agents.map((agent) => agent?.hiddenSize ?? 0))
  const latents = 2 * 4 * job.latentSteps * widest
  resources.settleMemory(
    ctx,
    job,
    system.agents.flatMap((agent, i) => (agent ? [{ ...work[i], agent, name: style.roles[i].role }] : [])),
    [
      { name: 'links', bytes: parameters.reduce((n, v) => n + v.byteLength, 0) },
      { name: 'questions', bytes: rowsBytes(questions) },
      { name: 'not yet collected', bytes: garbageBytes(questions.length * turns, questions.length * turns * latents) },
      {
        name: 'sessions of links',
        bytes: smallSessionBytes * new Set(system.team?.links.map((l) => l.graph)).size,
      },
    ],
  )
}

/** A single agent needs no others; a team needs every role once. */
function agentsOf(style: StyleDefinition, job: EvaluateJob): readonly (AgentSpec | null)[] {
  if (job.passing !== 'single') return inRoleOrder(style, job.agents)
  const { role } = style.roles[style.last]
  const own = job.agents.filter((a) => roleIn(style, a.role) === style.last)
  if (own.length === 1) return style.roles.map((_, i) => (i === style.last ? own[0] : null))
  throw new UserError({
    what: 'There is no single agent to evaluate.',
    why: `The ${role} answers alone, but ${own.length === 0 ? 'there is none' : `there are ${own.length}`} among the agents.`,
    next: `Give one agent with the role ${role}.`,
  })
}

/** A control takes something from the latents: without them it would say nothing. */
function checkControl(job: EvaluateJob): void {
  if (job.control === 'none' || (job.passing === 'latents' && job.latentSteps > 0)) return
  const [why, instead] = {
    latents: ['With "latentSteps" at 0 every slot is empty, and no link is used.', 'set "latentSteps" to 1 or more'],
    text: ['The team passes text, no latents.', 'set "passing" to "latents"'],
    single: ['A single agent reads no latents.', 'set "passing" to "latents"'],
  }[job.passing]
  throw new UserError({
    what: `The control "${job.control}" would change nothing.`,
    why,
    next: `Leave out "control", or ${instead}.`,
  })
}

async function openLinks(
  job: EvaluateJob,
  style: StyleDefinition,
  agents: readonly AgentSpec[],
  given: GivenLinks,
  resources: Resources,
): Promise<Team> {
  const generator = new TorchGenerator(job.seed)
  const untrained = job.control === 'untrained-links'
  const members = await openMembers(
    resources,
    untrained ? agents.map((a, i) => ({ ...a, innerLinkType: given.inner[i]?.type ?? a.innerLinkType })) : agents,
    generator,
    job.task,
    untrained ? agents.map(() => null) : given.inner,
  )
  const team = await openTeam(
    resources,
    style,
    members,
    generator,
    {
      type: (key) => given.outer?.links.get(key)?.type ?? freshLinkType(job, key),
      given: untrained ? null : given.outer,
      path: job.outerLinks,
    },
    job.task,
  )
  return job.control === 'shuffled-links' ? { ...team, links: shuffled(team.links) } : team
}

/** Every link with the parameters of the next one of its type and widths, the last with those of the first. UserError where no two are alike. */
export function shuffled(links: readonly OuterLink[]): OuterLink[] {
  const alike = (a: OuterLink, b: OuterLink) =>
    a.type === b.type && a.graph.inWidth === b.graph.inWidth && a.graph.outWidth === b.graph.outWidth
  const made = links.map((link, i) => {
    const next = [...links.slice(i + 1), ...links.slice(0, i + 1)].find((other) => alike(link, other))!
    return { ...link, parameters: next.parameters }
  })
  if (made.some((link, i) => link.parameters !== links[i].parameters)) return made
  throw new UserError({
    what: 'The links cannot be shuffled.',
    why: `No two of them are of one type and of the same widths (${links
      .map(({ key, graph }) => `${key}: ${graph.inWidth} to ${graph.outWidth}`)
      .join(', ')}).`,
    next: 'Choose the control "other-questions" or "untrained-links".',
  })
}

/** Long ones first: memory runs out at the start or never, and the last batches are quick. */
function inOrder(questions: readonly Question[]): Question[] {
  return [...questions].sort((a, b) => b.question.length - a.question.length || a.index - b.index)
}

function batches(ordered: readonly Question[], size: number): Question[][] {
  const made: Question[][] = []
  for (let from = 0; from < ordered.length; from += size) made.push(ordered.slice(from, from + size))
  return made
}

/** Whole answers of an earlier attempt: every rollout of a question, to the question that is asked now and graded as now. */
async function answeredSoFar(job: EvaluateJob, questions: readonly Question[]): Promise<Map<number, SampleRecord[]>> {
  const text = await readFile(samplesFile(job.output), 'utf8').catch(() => '')
  const found = new Map<number, SampleRecord[]>()
  for (const line of text.split('\n')) {
    const record = parseLine(line)
    const asked = record && questions[record.index]
    if (asked && asked.question === record.question && asked.gold === record.gold)
      found.set(record.index, [...(found.get(record.index) ?? []), record])
  }
  for (const [index, own] of found) if (own.length !== job.rollouts) found.delete(index)
  return found
}

/** A process that was killed leaves half a line at the end. */
function parseLine(line: string): SampleRecord | null {
  try {
    const checked = sampleRecord.safeParse(JSON.parse(line))
    return checked.success ? checked.data : null
  } catch {
    return null
  }
}

function lines(records: readonly SampleRecord[]): string {
  return records.map((r) => JSON.stringify(r) + '\n').join('')
}

/** With several rollouts a question counts as right when any of them is; null where the grader has no strict verdict. */
function strictOf(own: readonly SampleRecord[]): boolean | null {
  return own.some((r) => r.grades.some((g) => g.grader === 'strict')) ? own.some((r) => r.strict === true) : null
}

async function finish(
  job: EvaluateJob,
  prompts: PromptSettings,
  questions: readonly Question[],
  records: ReadonlyMap<number, readonly SampleRecord[]>,
  seconds: number,
): Promise<EvaluationEnd> {
  const right = (q: Question) => records.get(q.index)!.some((r) => r.correct)
  const accuracy = wilson(questions.filter(right).length, questions.length)
  const strict = questions.flatMap((q) => strictOf(records.get(q.index)!) ?? [])
  const strictAccuracy = strict.length === 0 ? null : wilson(strict.filter(Boolean).length, strict.length)
  const groups: ResultRecord['groups'] = {}
  for (const column of new Set(questions.flatMap((q) => Object.keys(q.groups)))) {
    groups[column] = {}
    for (const value of new Set(questions.map((q) => q.groups[column]))) {
      const own = questions.filter((q) => q.groups[column] === value)
      if (value !== undefined) groups[column][value] = wilson(own.filter(right).length, own.length)
    }
  }
  // outputs that no grader could read or that made one fail, not those that are just wrong
  const failures: Record<string, number> = {}
  for (const [first] of records.values())
    for (const { grader, cause, prediction } of first.grades) {
      if (cause === null || (grader === 'strict' && prediction !== null)) continue
      failures[`${grader}: ${cause}`] = (failures[`${grader}: ${cause}`] ?? 0) + 1
    }
  const result: ResultRecord = {
    accuracy,
    strictAccuracy,
    seconds,
    failures,
    promptPackHash: promptPackHash(prompts.pack),
    spec: job as unknown as Record<string, unknown>,
    groups,
  }
  await writeJsonWhole(resultFile(job.output), resultRecord.parse(result))
  return { accuracy, strictAccuracy }
}
