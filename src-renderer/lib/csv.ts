/** Comma-separated values after RFC 4180; null becomes an empty field. */

export type CsvValue = string | number | null

export function toCsv(header: readonly string[], rows: readonly (readonly CsvValue[])[]): string {
  return [header, ...rows].map((row) => row.map(field).join(',')).join('\r\n') + '\r\n'
}

/**
 * Series of one chart side by side: one row for each x that any of them has.
 * @param series ascending `x`, same length as `y`
 */
export function seriesToCsv(
  xLabel: string,
  series: readonly { readonly label: string; readonly x: readonly number[]; readonly y: readonly (number | null)[] }[],
): string {
  const rows = new Map<number, CsvValue[]>()
  series.forEach((line, column) => {
    line.x.forEach((x, i) => {
      const row = rows.get(x) ?? new Array<CsvValue>(series.length).fill(null)
      row[column] = line.y[i]
      rows.set(x, row)
    })
  })
  const sorted = [...rows].sort(([a], [b]) => a - b)
  return toCsv(
    [xLabel, ...series.map((line) => line.label)],
    sorted.map(([x, values]) => [x, ...values]),
  )
}

function field(value: CsvValue): string {
  if (value === null) return ''
  const text = String(value)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
