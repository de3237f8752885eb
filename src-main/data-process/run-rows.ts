/** The rows of an open set as one kind of run reads them: under which columns, what is wrong with each, and what it would work on. */
import { alternatives, type ColumnWish, renaming, RowReader, type RowReading } from '../engine/data/rows'
import { questionColumns } from '../engine/evaluation/questions'
import type { StyleDefinition } from '../engine/styles/style'
import { outerColumns, questionColumn, roleColumns } from '../engine/training/training-texts'
import type { RawRow } from '../engine/data/read-lines'
import type { RunUse } from '../bridge/contract'

/** What else prompts and graders look for in a row. */
const optional = ['task_family', 'type', 'fn_name', 'options', 'rounds']

export interface RunReader {
  /** Columns of the data that the run looks at. */
  readonly columns: ReadonlySet<string>
  /** Columns that the mapping names but the data does not have. */
  readonly absent: readonly string[]
  /** Fields for which the data has no column. */
  readonly missing: readonly string[]
  /** Field -> column of the data, for every field that the run needs; null = none. */
  readonly found: ReadonlyMap<string, string | null>
  read(row: RawRow): RowReading
}

/** `role`: of inner training the one whose texts count; null: every role's. */
export function runReader(
  style: StyleDefinition,
  use: RunUse,
  role: number | null,
  mapping: Readonly<Record<string, string>>,
  names: readonly string[],
): RunReader {
  const required = wishes(style, use, role)
  const renamed = renaming(mapping, names)
  const reader = new RowReader(renamed.names, { required })
  const sources = reader.sources()
  // under its own name a column is what the mapping put there
  const columnOf = (name: string): string => (Object.hasOwn(mapping, name) ? mapping[name] : name)
  const looked = new Set(required.flatMap((wish) => [...alternatives(wish)]))
  const used = [...looked, ...optional].map(columnOf).filter((name) => names.includes(name))
  return {
    columns: new Set(used),
    absent: renamed.absent,
    missing: reader.missing.map((wish) => fieldOf(wish)),
    found: new Map(
      required.map((wish) => {
        const source = sources.get(wish)
        return [fieldOf(wish), source === undefined ? null : columnOf(source)]
      }),
    ),
    read: (row) => reader.read(renamed.rename(row)),
  }
}

/** The name that the page knows a wish by. */
export function fieldOf(wish: ColumnWish): string {
  return alternatives(wish)[0]
}

function wishes(style: StyleDefinition, use: RunUse, role: number | null): ColumnWish[] {
  switch (use) {
    case 'evaluate':
      return [...questionColumns({})]
    case 'outer':
      return outerColumns(style)
    case 'inner': {
      const agents = role === null ? style.roles.map((_, agent) => agent) : [role]
      const all = agents.flatMap((agent) => roleColumns(style, agent, 'corrected').required)
      const known = new Map<string, ColumnWish>(all.map((wish) => [JSON.stringify(wish), wish]))
      return [questionColumn, ...[...known.values()].filter((wish) => fieldOf(wish) !== fieldOf(questionColumn))]
    }
  }
}
