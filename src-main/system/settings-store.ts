/**
 * The app's settings, outside any workspace (they say where it is): one small JSON file in the user's application data. Of a file
 * that is damaged a copy is kept under another name; what can be read of it holds, and defaults for the rest.
 */
import { copyFileSync, existsSync, readFileSync } from 'node:fs'
import { z } from 'zod'
import { appearance } from '../bridge/views'
import { UserError } from '../engine/errors'
import { writeJsonWhole } from '../engine/formats/atomic-files'
import { parseJson } from '../engine/formats/json-text'
import { checkAgainst } from '../engine/formats/schema-faults'

const smallest = { width: 400, height: 300 }

export const settings = z.object({
  appearance: appearance.default('system'),
  /** null: the default folder. */
  workspace: z.string().nullable().default(null),
  /** null: the usual one. */
  hubEndpoint: z.string().nullable().default(null),
  view: z.record(z.string(), z.string()).default({}),
  window: z
    .object({
      x: z.number().int().optional(),
      y: z.number().int().optional(),
      width: z.number().int().min(smallest.width),
      height: z.number().int().min(smallest.height),
      maximized: z.boolean(),
    })
    .nullable()
    .default(null),
})

export type Settings = z.infer<typeof settings>

/** A window's bounds as settings take them: a window manager may make it smaller than we do, and give fractions. */
export function windowPlace(
  bounds: { x: number; y: number; width: number; height: number },
  maximized: boolean,
): NonNullable<Settings['window']> {
  return {
    x: Math.round(bounds.x),
    y: Math.round(bounds.y),
    width: Math.max(smallest.width, Math.round(bounds.width)),
    height: Math.max(smallest.height, Math.round(bounds.height)),
    maximized,
  }
}

export class SettingsStore {
  private current: Settings
  private writing: Promise<void> = Promise.resolve()

  /** Reads synchronously: the window needs its place before it opens. */
  constructor(
    private readonly file: string,
    private readonly onProblem: (error: unknown) => void,
  ) {
    this.current = this.read()
  }

  get(): Settings {
    return this.current
  }

  /** In force at once; the file follows. Fulfilled when it is written, never rejected. */
  update(change: Partial<Settings>): Promise<void> {
    this.current = settings.parse({ ...this.current, ...change })
    const value = this.current
    this.writing = this.writing.then(() => writeJsonWhole(this.file, value)).catch(this.onProblem)
    return this.writing
  }

  /** Fulfilled when everything is on disk. */
  written(): Promise<void> {
    return this.writing
  }

  private read(): Settings {
    if (!existsSync(this.file)) return settings.parse({})
    let raw: unknown
    let why: string
    try {
      raw = parseJson(readFileSync(this.file, 'utf8'))
      const checked = checkAgainst(settings, raw)
      if (checked.ok) return checked.data
      ;({ why } = checked)
    } catch (error) {
      why = (error as Error).message
    }
    const kept = `${this.file}.damaged`
    try {
      copyFileSync(this.file, kept)
    } catch (copying) {
      this.onProblem(copying)
    }
    this.onProblem(
      new UserError({
        what: 'The settings could not be read.',
        why: `${this.file}: ${why}.`,
        next: `Set them again; the file as it was is ${kept}.`,
      }),
    )
    return readable(raw)
  }
}

/** Every setting that is right by itself, defaults for the others. */
function readable(raw: unknown): Settings {
  const given = raw !== null && typeof raw === 'object' ? Object.entries(raw) : []
  const right = given.filter(([name, value]) => settings.safeParse({ [name]: value }).success)
  return settings.parse(Object.fromEntries(right))
}
