/** Strict math grading: what a careful person says. Right is the same exact value, whatever the notation. */
import { findCommitment } from './commit'
import { compareNodes } from './compare'
import { maxAnswerLength } from './lexer'
import { bare, type Node } from './node'
import { parseAnswer } from './parser'
import { foreignNumber } from './scalars'
import { compareCharacters, compareText, unwrapped } from './text'
import { debatable, doubted, right, wrong, type Verdict } from './verdict'
import { OutOfWork, Work } from './work'

export interface StrictVerdict extends Verdict {
  /** What the output commits to; null for nothing. */
  readonly pred: string | null
  readonly gold: string
}

const delimiters: [string, string][] = [
  ['$$', '$$'],
  ['$', '$'],
  ['\\(', '\\)'],
  ['\\[', '\\]'],
  ['**', '**'],
  ['`', '`'],
]

/** The answer without delimiters of mathematics or emphasis around it and without a full stop behind it. */
function cleaned(source: string): string {
  let text = source.trim().replace(/\b([ap])\. ?m\b\.?/gi, '$1m')
  if (text.length > maxAnswerLength) return text
  for (let before = ''; before !== text;) {
    before = text
    // The space of a "\\ " at the end was trimmed away.
    if (/(?<!\\)(?:\\\\)*\\$/.test(text)) text = text.slice(0, -1).trim()
    // A stop behind a digit could be "1." as well; both mean the same.
    if (/[^\\.][.;:]$/.test(text)) text = text.slice(0, -1).trim()
    for (const [open, close] of delimiters) {
      const inside = text.slice(open.length, -close.length)
      if (
        text.length > open.length + close.length &&
        text.startsWith(open) &&
        text.endsWith(close) &&
        !inside.includes(open)
      ) {
        text = inside.trim()
      }
    }
  }
  return text
}

/** Right beats debatable beats wrong. */
function best(verdicts: readonly Verdict[]): Verdict {
  return (
    verdicts.find((verdict) => verdict.correct === true) ??
    verdicts.find((verdict) => verdict.correct === null) ??
    verdicts[0]
  )
}

const leadIn =
  /^(?:(?:so|thus|hence|therefore),? )?(?:(?:the|our|final|correct) ){0,3}answer is:? |^(?:option|choice) /i

/** Whether the gold answer is words, or a single letter marked as a choice, rather than mathematics. */
function isWords(source: string, node: Node | null): boolean {
  if (!node) return true
  const inner = bare(node)
  if (inner.kind === 'word') return true
  return inner.kind === 'symbol' && unwrapped(source) !== source
}

function compareAnswers(gold: string, pred: string, work: Work): Verdict {
  if (gold === pred) return right('the same text')
  if (pred.length > maxAnswerLength) return wrong('too long for an answer')
  // Three letters and more are a word, whose order counts.
  if (/^\p{L}{3,}$/u.test(unwrapped(gold).trim())) return compareText(gold, pred)
  const verdicts: Verdict[] = []
  let goldIsWords = false
  let predIsMath = false
  for (const commaGroups of [true, false]) {
    const goldParsed = parseAnswer(gold, { commaGroups })
    const predParsed = parseAnswer(pred, { commaGroups })
    if (isWords(gold, goldParsed?.node ?? null)) goldIsWords = true
    if (!goldParsed || !predParsed) continue
    predIsMath = true
    const verdict = compareNodes(goldParsed.node, predParsed.node, work)
    verdicts.push(predParsed.doubts.length > 0 ? doubted(verdict, predParsed.doubts[0]) : verdict)
  }
  const foreign = foreignNumber(pred)
  const goldNode = parseAnswer(gold, { commaGroups: true })?.node
  if (foreign && goldNode) {
    verdicts.push(doubted(compareNodes(goldNode, foreign, work), 'points, commas or spaces used the other way'))
  }
  if (goldIsWords) verdicts.push(compareText(gold, pred))
  else if (!predIsMath)
    verdicts.push(doubted(compareCharacters(gold, pred), 'the same characters, but not read as mathematics'))
  return best(verdicts)
}

function compareLoosely(gold: string, pred: string, work: Work): Verdict {
  const verdict = compareAnswers(gold, pred, work)
  if (verdict.correct !== false) return verdict
  if (pred.includes('–'))
    return doubted(compareAnswers(gold, pred.replaceAll('–', '-'), work), 'a dash for a minus sign')
  const words = unwrapped(pred).trim()
  const behind = words.replace(leadIn, '')
  if (behind === words) return verdict
  const again = compareAnswers(gold, cleaned(behind), work)
  return again.correct === false ? verdict : debatable('the answer with words before it')
}

function bounded(compare: () => Verdict): Verdict {
  try {
    return compare()
  } catch (error) {
    if (error instanceof OutOfWork) return debatable('too much work to compare')
    throw error
  }
}

/** Grades an output against a gold answer. Never throws; takes bounded time. */
export function gradeStrictMath(goldField: string, output: string): StrictVerdict {
  const gold = cleaned(goldField)
  const commitment = findCommitment(output)
  if (!commitment) return { ...wrong('no answer given'), pred: null, gold }
  const pred = cleaned(commitment.text)
  if (gold === '') return { ...wrong('there is no gold answer'), pred, gold }
  const verdict = bounded(() => compareLoosely(gold, pred, new Work()))
  return { ...(commitment.doubt ? doubted(verdict, commitment.doubt) : verdict), pred, gold }
}
