/**
 * What an output commits to as its answer: the last complete box outside think blocks, else the last statement of the
 * answer. Everything here takes time linear in the output.
 */
export interface Commitment {
  readonly text: string
  /** Null for a plain commitment; else why people may differ on whether it is one. */
  readonly doubt: string | null
}

const thinkTag = /<(\/?)think(?:ing)?>/gi

/** The text outside closed think blocks, and what stands in a block that never closes. */
export function splitThinking(output: string): { spoken: string; unclosed: string | null } {
  let spoken = ''
  let from = 0
  let opened: number | null = null
  for (const tag of output.matchAll(thinkTag)) {
    if (tag[1] === '') {
      opened ??= tag.index
    } else {
      // A closing tag without an opening one: the prompt had opened the block.
      if (opened !== null) spoken += output.slice(from, opened)
      else spoken = ''
      from = tag.index + tag[0].length
      opened = null
    }
  }
  if (opened === null) return { spoken: spoken + output.slice(from), unclosed: null }
  return { spoken: spoken + output.slice(from, opened), unclosed: output.slice(opened) }
}

interface Boxes {
  /** Every complete box with something in it, in order of their ends; `start` to `end` is what stands between the braces. */
  complete: { text: string; start: number; end: number }[]
  /** The last of them. */
  filled: string | null
  /** Whether an empty box comes behind it. */
  emptyLast: boolean
  /** What stands behind the opening of a box that never closes, to the end of its line. */
  unclosed: string | null
  /** The last complete \fbox. */
  framed: string | null
}

/** A box opens (groups 1, 2), or takes a single character (3); other escaped characters are skipped, braces counted. */
const boxParts = /\\(boxed|fbox)\s*(\{)|\\boxed\s*([0-9A-Za-z])|\\[\s\S]|[{}]/g

export function findBoxes(text: string): Boxes {
  const boxes: Boxes = { complete: [], filled: null, emptyLast: false, unclosed: null, framed: null }
  const open: { name: string; start: number }[] = []
  for (const part of text.matchAll(boxParts)) {
    const end = part.index + part[0].length
    if (part[2]) {
      open.push({ name: part[1], start: end })
    } else if (part[3]) {
      boxes.complete.push({ text: part[3], start: end - 1, end })
      Object.assign(boxes, { filled: part[3], emptyLast: false })
    } else if (part[0] === '{') {
      open.push({ name: '', start: end })
    } else if (part[0] === '}') {
      const group = open.pop()
      const content = group?.name ? text.slice(group.start, part.index).trim() : ''
      if (group?.name === 'fbox') boxes.framed = content || boxes.framed
      if (group?.name !== 'boxed') continue
      if (content === '') boxes.emptyLast = true
      else {
        boxes.complete.push({ text: content, start: group.start, end: part.index })
        Object.assign(boxes, { filled: content, emptyLast: false })
      }
    }
  }
  const last = open.findLast((group) => group.name === 'boxed')
  if (last) boxes.unclosed = text.slice(last.start).split('\n', 1)[0].trim()
  return boxes
}

const label =
  /\b(?:final[\s*_]{1,20}answer|answer)[*_]{0,3}(?:\s{0,10}(?::|=)|\s{1,10}is\b(?!\s{1,5}not\b)\s{0,5}:?)[*_]{0,3}/gi
const heading = /^[ \t]{0,20}(?:#{1,6}|\*\*)[ \t]{0,20}final answer[ \t]{0,20}(?:\*\*)?[ \t]{0,20}$/gim

/** What is said behind the last label: the rest of its line, or the next line that says something; up to the sentence's end. */
function statement(text: string): Commitment | null {
  let doubt: string | null = null
  const labels = [...text.matchAll(label), ...text.matchAll(heading)].sort((a, b) => b.index - a.index)
  for (const match of labels.slice(0, 20)) {
    const tail = text.slice(match.index + match[0].length).trimStart()
    const line = sentence(tail.split(/\r?\n/, 1)[0])
    if (line !== '') return { text: line, doubt }
    doubt = 'the last label has nothing behind it'
  }
  return null
}

/** A line up to the end of its first sentence, without emphasis around it. */
function sentence(line: string): string {
  const end = /\.\s+(?=[A-Z])|\.\s*$/.exec(line)
  return (end ? line.slice(0, end.index) : line).replace(/^[\s*_`]+/, '').replace(/[\s*_`]{1,50}$/, '')
}

const hashes = /^####[ \t]*(\S[^\n]*)$/gm
/** Longer texts are no bare answers. */
const maxBareLength = 100

function commitmentIn(text: string): Commitment | null {
  const boxes = findBoxes(text)
  if (boxes.unclosed !== null) return { text: boxes.unclosed, doubt: 'the box is not closed' }
  if (boxes.filled !== null) {
    return { text: boxes.filled, doubt: boxes.emptyLast ? 'an empty box comes behind it' : null }
  }
  if (boxes.emptyLast) return null
  const said = statement(text)
  if (said) return said
  if (boxes.framed !== null) return { text: boxes.framed, doubt: 'a frame, not a box' }
  const hashed = [...text.matchAll(hashes)].at(-1)
  if (hashed) return { text: hashed[1].trim(), doubt: 'behind hashes, not in a box' }
  const whole = text.trim()
  const isBare = whole !== '' && whole.length <= maxBareLength && !whole.includes('\n')
  return isBare ? { text: whole, doubt: 'an answer alone, not in a box' } : null
}

/** The answer that an output commits to; null for none. */
export function findCommitment(output: string): Commitment | null {
  const { spoken, unclosed } = splitThinking(output)
  const found = commitmentIn(spoken)
  if (found || unclosed === null) return found
  const thought = commitmentIn(unclosed)
  return thought && { text: thought.text, doubt: 'said in a think block that is not closed' }
}
