/** Tables and examples of README.md that follow from the code's own registries. */
import { type Defect, defects } from '../engine/defects'
import { type DecoderConfig, ropeOf } from '../engine/models/config'
import { families, resolveConfig } from '../engine/models/families'
import {
  innerLinkTypes,
  innerParameterShapes,
  outerLinkTypes,
  outerParameterShapes,
  type ParameterShape,
} from '../engine/nn/link-types'
import { styles } from '../engine/styles/registry'
import { isFeedback, linksInto, type StyleDefinition } from '../engine/styles/style'

/** Section name -> its Markdown. README has each between a line `<!-- NAME: npm run docs -->` and a line `<!-- /NAME -->`. */
const sections: Readonly<Record<string, () => string>> = {
  styles: styleTable,
  'style-jobs': styleJobs,
  roles: roleTable,
  families: familyTable,
  'link-types': linkTypeTable,
  defects: defectTable,
}

/** The README with every section as the code has it. Throws where a section's marks are missing or doubled. */
export function withSections(readme: string): string {
  return Object.entries(sections).reduce((text, [name, make]) => {
    const [begin, end] = [`<!-- ${name}: npm run docs -->\n`, `<!-- /${name} -->`]
    const [before, after] = [text.split(begin), text.split(end)]
    if (before.length !== 2 || after.length !== 2 || before[0].length > after[0].length)
      throw new Error(`README.md needs the lines ${begin.trim()} and ${end}, once each and in this order`)
    return `${before[0]}${begin}\n${make()}\n\n${end}${after[1]}`
  }, readme)
}

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')

const code = (text: string) => `\`${text}\``

function styleTable(): string {
  return table(
    ['style', 'agents, in the order in which they think', 'answers', 'links, in creation order'],
    styles.map((style) => [
      style.name,
      style.roles.map((r) => r.role).join(', '),
      style.roles[style.last].role,
      style.links
        .map(
          (l) =>
            `${code(l.key)} ${named(style, l.source)} → ${named(style, l.target)}${isFeedback(l) ? ' (next round)' : ''}`,
        )
        .join(', '),
    ]),
  )
}

const named = (style: StyleDefinition, agent: number) => style.roles[agent].role

function roleTable(): string {
  return table(
    ['style', 'role', 'reads the question and', 'its own text is in', 'also called'],
    styles.flatMap((style) =>
      style.roles.map(({ role, targets, referenceName, releasedName }, agent) => [
        style.name,
        role,
        linksInto(style, agent, 1)
          .map((l) => `${named(style, l.source)}${isFeedback(l) ? ' (from round 2)' : ''}`)
          .join(', '),
        targets.map(code).join(', '),
        [referenceName, releasedName].flatMap((name) => (name === undefined ? [] : [code(name)])).join(', '),
      ]),
    ),
  )
}

/** The inner job of a role, then the outer job of each style, as spec files. */
function styleJobs(): string {
  const job = ({ name, roles }: StyleDefinition) => {
    const agents = roles.map(
      ({ role }) =>
        `    { "role": "${role}", "model": "models/${role}", "innerLink": "inner-${role}/checkpoints/step-400" }`,
    )
    return [
      '{',
      `  "kind": "outer", "style": "${name}", "output": "outer-${name}", "rounds": 3, "steps": 400,`,
      '  "agents": [',
      agents.join(',\n'),
      '  ],',
      '  "data": { "file": "train.jsonl" }',
      '}',
    ].join('\n')
  }
  const [{ name, roles }] = styles
  const inner = [
    '{',
    `  "kind": "inner", "style": "${name}", "role": "${roles[0].role}", "model": "models/${roles[0].role}",`,
    `  "output": "inner-${roles[0].role}", "steps": 400,`,
    '  "data": { "file": "train.jsonl" }',
    '}',
  ].join('\n')
  return [inner, ...styles.map(job)].map((text) => text.replace(/^/gm, '    ')).join('\n\n')
}

function familyTable(): string {
  return table(
    ['`model_type`', 'what its blocks have, beside rotary attention with grouped heads, a gated MLP and RMSNorm'],
    Object.keys(families).map((type) => [
      code(type),
      features(resolveConfig({ model_type: type })).join(', ') || 'nothing else',
    ]),
  )
}

/** What a family has when its config.json says no more than its name. */
function features(config: DecoderConfig): string[] {
  const { windows } = config
  const local = windows.filter((w) => w > 0).length
  const bases = new Set(windows.map((_, layer) => ropeOf(config, layer).theta)).size
  const found: [boolean, string][] = [
    [config.delta !== null, 'gated delta-net in place of attention in some layers'],
    [config.outputGate, 'gated attention'],
    [local === windows.length, 'sliding window'],
    [local > 0 && local < windows.length, 'sliding window in some layers'],
    [bases > 1, 'rotary bases by kind of layer'],
    [config.rotaryDim < config.headDim, 'rotary on a part of each head'],
    [config.qkvBias, 'bias of queries, keys and values'],
    [config.qkNorm, 'norm of queries and keys'],
    [config.outputNorms, 'norms after attention and MLP'],
    [config.normOffset === 1, 'norm weights of 1 + w'],
    [config.activation === 'gelu_tanh', 'tanh GELU'],
    [config.embeddingScale !== 1, 'scaled token embeddings'],
  ]
  return found.flatMap(([there, words]) => (there ? [words] : []))
}

function linkTypeTable(): string {
  const shapes = (list: readonly ParameterShape[]) =>
    list
      .filter((p) => p.shape.length === 2)
      .map(
        (p) =>
          `${p.name.replace('.weight', '')} [${p.shape.map((n) => ({ 2: 'H', 3: 'I', 5: 'O', 10: '2 O' })[n]).join(', ')}]`,
      )
      .join(', ')
  const row = (
    name: string,
    { alias, residual, norms }: { alias: string | null; residual: boolean; norms: boolean },
    matrices: string,
  ) => [code(name), alias === null ? '' : code(alias), residual ? 'yes' : 'no', norms ? 'at both ends' : 'no', matrices]
  const inner = Object.entries(innerLinkTypes).map(([name, type]) =>
    row(name, type, shapes(innerParameterShapes(name as keyof typeof innerLinkTypes, 2))),
  )
  const outer = Object.entries(outerLinkTypes).map(([name, type]) =>
    row(name, type, shapes(outerParameterShapes(name as keyof typeof outerLinkTypes, 3, 5))),
  )
  return table(['link type', 'also called', 'residual', 'layer norms', 'matrices'], [...inner, ...outer])
}

function defectTable(): string {
  const all: [string, Defect][] = Object.entries(defects)
  return table(
    ['in', 'styles', '`reference`', '`corrected`'],
    all.map(([, d]) => [d.stage, d.styles === 'all' ? 'all' : d.styles.join(', '), d.published, d.corrected]),
  )
}
