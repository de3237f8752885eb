/**
 * The app's settings, outside any workspace (they say where it is): one small JSON file in the user's application data. A file
 * that cannot be read is kept under another name, and the defaults hold.
 */
import { existsSync, readFileSync, renameSync } from 'node:fs'
import { z } from 'zod'
import { appearance } from '../bridge/views'
import { writeJsonWhole } from '../engine/formats/atomic-files'

export const settings = z.object({
  appearance: appearance.default('system'),
  /** null: the default folder. */
  workspace: z.string().nullable().default(null),
  view: z.record(z.string(), z.string()).default({}),
  window: z
    .object({
      x: z.number().int().optional(),
      y: z.number().int().optional(),
      width: z.number().int().min(400),
      height: z.number().int().min(300),
      maximized: z.boolean(),
    })
    .nullable()
    .default(null),
})

export type Settings = z.infer<typeof settings>

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
    try {
      return settings.parse(JSON.parse(readFileSync(this.file, 'utf8')))
    } catch (error) {
      this.onProblem(error)
      try {
        renameSync(this.file, `${this.file}.damaged`)
      } catch (renaming) {
        this.onProblem(renaming)
      }
      return settings.parse({})
    }
  }
}
