/**
 * The date that chat templates see. It is pinned, so that a prompt (and with it every latent) is the same tomorrow;
 * names are English on every machine.
 */

/** A calendar day; month 1-12. */
export interface Day {
  readonly year: number
  readonly month: number
  readonly day: number
}

/** The day that the templates which ask for one name themselves when no clock is offered. */
export const PINNED_DAY: Day = { year: 2024, month: 7, day: 26 }

const MONTHS = 'January February March April May June July August September October November December'.split(' ')
const WEEKDAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ')

/** Python's strftime for midnight of a day; a directive that it does not know stays as it is written. */
export function formatDay({ year, month, day }: Day, format: string): string {
  const at = new Date(Date.UTC(year, month - 1, day))
  const two = (n: number) => String(n).padStart(2, '0')
  const dayOfYear = Math.round((at.getTime() - Date.UTC(year, 0, 1)) / 86_400_000) + 1
  const parts: Record<string, string> = {
    Y: String(year),
    y: two(year % 100),
    m: two(month),
    d: two(day),
    b: MONTHS[month - 1].slice(0, 3),
    B: MONTHS[month - 1],
    a: WEEKDAYS[at.getUTCDay()].slice(0, 3),
    A: WEEKDAYS[at.getUTCDay()],
    H: '00',
    I: '12',
    M: '00',
    S: '00',
    p: 'AM',
    j: String(dayOfYear).padStart(3, '0'),
    F: `${year}-${two(month)}-${two(day)}`,
    '%': '%',
  }
  return format.replace(/%(-?)([A-Za-z%])/g, (whole, unpadded: string, directive: string) => {
    const part = parts[directive]
    if (part === undefined) return whole
    return unpadded ? part.replace(/^0+(?=\d)/, '') : part
  })
}
