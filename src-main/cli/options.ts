/** Checked reading of command-line options; every fault is a UsageError that shows the usage. */
import { parseArgs, type ParseArgsConfig } from 'node:util'
import { UsageError } from './usage-error'

type Options = NonNullable<ParseArgsConfig['options']>

export function parseOptions<T extends Options>(
  args: readonly string[],
  options: T,
  usage: string,
  allowPositionals = false,
) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals, strict: true })
  } catch (error) {
    throw new UsageError((error as Error).message, usage)
  }
}

const help = { type: 'boolean', default: false } as const

/** The same for a command that knows --help; null where that was asked for, and has been answered. */
export function parseOrHelp<T extends Options>(
  args: readonly string[],
  options: T,
  usage: string,
  allowPositionals = false,
) {
  const { values, positionals } = parseOptions(args, { ...options, help }, usage, allowPositionals)
  if ((values as { help?: boolean }).help !== true) return { values, positionals }
  process.stdout.write(`${usage}\n`)
  return null
}

/** A whole number from `least` on. */
export function wholeNumber(name: string, text: string, least: number, usage: string): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : NaN
  if (value >= least) return value
  throw new UsageError(`--${name} takes a whole number of at least ${least}, not "${text}".`, usage)
}

export function required(name: string, value: string | undefined, usage: string): string {
  if (value !== undefined && value !== '') return value
  throw new UsageError(`--${name} is missing.`, usage)
}
