/**
 * A Jinja template, parsed once and run with our own globals. Two things of the library are repaired on the parsed tree:
 * it ignores the argument of strip, lstrip and rstrip (which spoils the indentation of Qwen3 answers), and its `trim`
 * takes JavaScript's white space. The clock is pinned.
 */
import { Environment, Interpreter, parse, tokenize } from '@huggingface/jinja'
import { formatDay, PINNED_DAY, type Day } from './clock'
import { stripPython } from './python-text'

/** What a template said through `raise_exception`: its own words. */
export class TemplateRefusal extends Error {
  override readonly name = 'TemplateRefusal'
}

export interface JinjaTemplate {
  /** The rendered text. Throws TemplateRefusal when the template raises, the library's error when it cannot run. */
  render(variables: Readonly<Record<string, unknown>>): string
}

type Node = Record<string, unknown> & { type?: string }

const STRIP_CALLS: Readonly<Record<string, string>> = { strip: '__strip', lstrip: '__lstrip', rstrip: '__rstrip' }

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function callOf(name: string, args: unknown[]): Node {
  return { type: 'CallExpression', callee: { type: 'Identifier', value: name }, args }
}

/** Turns `x.strip(…)` and `x | trim` into calls of our own functions, in place; returns the node that takes its place. */
function repair(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(repair)
  if (!isNode(node)) return node
  for (const key of Object.keys(node)) node[key] = repair(node[key])
  if (node.type === 'CallExpression' && isNode(node.callee) && node.callee.type === 'MemberExpression') {
    const { computed, property, object } = node.callee
    const own = !computed && isNode(property) ? STRIP_CALLS[String(property.value)] : undefined
    if (own) return callOf(own, [object, ...(node.args as unknown[])])
  }
  if (node.type === 'FilterExpression' && isNode(node.filter)) {
    const filter = node.filter
    if (filter.type === 'Identifier' && filter.value === 'trim') return callOf('__strip', [node.operand])
    if (filter.type === 'CallExpression' && isNode(filter.callee) && filter.callee.value === 'trim')
      return callOf('__strip', [node.operand, ...(filter.args as unknown[])])
  }
  return node
}

function range(from: number, to?: number, step = 1): number[] {
  const [start, end] = to === undefined ? [0, from] : [from, to]
  const numbers: number[] = []
  for (let i = start; step > 0 ? i < end : i > end; i += step) numbers.push(i)
  return numbers
}

function stripped(ends: 'both' | 'left' | 'right') {
  return (text: unknown, characters?: string | null) => {
    if (typeof text !== 'string') throw new Error('the template strips white space from something that is not text')
    return stripPython(text, ends, characters)
  }
}

/** Parses `source`; throws the library's error when it is no template. `day` is what strftime_now tells. */
export function parseTemplate(source: string, day: Day = PINNED_DAY): JinjaTemplate {
  const program = repair(parse(tokenize(source, { lstrip_blocks: true, trim_blocks: true }))) as ReturnType<
    typeof parse
  >
  const globals: Record<string, unknown> = {
    true: true,
    True: true,
    false: false,
    False: false,
    none: null,
    None: null,
    range,
    strftime_now: (format: string) => formatDay(day, format),
    raise_exception: (message: unknown) => {
      throw new TemplateRefusal(String(message))
    },
    __strip: stripped('both'),
    __lstrip: stripped('left'),
    __rstrip: stripped('right'),
  }
  return {
    render(variables) {
      const environment = new Environment()
      for (const [name, value] of Object.entries({ ...globals, ...variables })) environment.set(name, value)
      return String(new Interpreter(environment).run(program).value)
    },
  }
}
