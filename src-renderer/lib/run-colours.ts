/** Gives runs their chart colours: the same run has the same colour wherever it is shown, unless two that are shown would clash. */

/**
 * @param shown runs in one chart, at most `count`
 * @param all every run's id in the order in which they were made
 * @param count colours there are
 * @returns a colour's place for each of `shown`, all different
 */
export function runColours(shown: readonly string[], all: readonly string[], count: number): number[] {
  const taken = new Set<number>()
  return shown.map((id) => {
    let colour = Math.max(0, all.indexOf(id)) % count
    while (taken.has(colour)) colour = (colour + 1) % count
    taken.add(colour)
    return colour
  })
}
