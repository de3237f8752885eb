/** Strict grading of multiple choice: the letter that an output commits to at last, in any dress; no letter is no answer. */
import { findBoxes, splitThinking } from './commit'
import { unwrapped } from './text'
import { debatable, doubted, right, type Verdict, wrong } from './verdict'
import type { StrictVerdict } from './math'

/** What an output commits to: letters (several: alternatives), or a text in place of one. */
interface Choice {
  readonly letters: readonly string[]
  readonly text: string
  readonly doubt: string | null
}

const marks = /^[\s*_`"']+|[\s*_`"']+$/g
const leadIn =
  /^(?:(?:so|thus|hence|therefore),?\s+)?(?:(?:the|my|our|final|correct|best|right)\s+){0,3}(?:(?:answer|choice|option)(?:\s+is)?\s*:?\s+)/i

/** A letter alone, in brackets, or before the text of its option; null for anything else. */
function letterOf(source: string): string | null {
  const plain = unwrapped(source)
    .replace(/\\[()[\]]/g, '')
    .replace(marks, '')
  const text = plain.replace(leadIn, '').replace(marks, '')
  const bracketed = /^[([]\s*([A-Da-d])\s*[)\]][.:,]?(?:\s|$)/.exec(text)
  if (bracketed) return bracketed[1].toUpperCase()
  const alone = /^([A-Da-d])\s*[.):,;\]]?$/.exec(text)
  if (alone) return alone[1].toUpperCase()
  const labelled = /^([A-Da-d])\s*(?:[.):]|\s[-–—])\s+\S/.exec(text)
  return labelled ? labelled[1].toUpperCase() : null
}

/** The letter with which running text goes on; a capital A may be an article, so what follows has to end or explain it. */
function letterAhead(source: string): string | null {
  const text = unwrapped(source)
    .replace(/^[\s*_`"']+/, '')
    .replace(leadIn, '')
    .replace(/^[\s*_`"']+/, '')
  const line = text.split('\n', 1)[0]
  const found =
    /^[([]\s*([A-Da-d])\s*[)\]]|^([A-D])(?=[\s*_`"']*(?:[.,:;!)\]]|$)|\s+(?:because|since|as)\b|\s[-–—]\s)/.exec(line)
  if (found) return (found[1] ?? found[2]).toUpperCase()
  return letterOf(line)
}

/** Where an answer is stated: a label before it, or a verb. */
const statements = [
  /\b(?:answer|choice|option)\b[*_]{0,3}\s{0,5}(?:[:=-]|is\b(?!\s{1,5}not\b):?)/gi,
  /\b(?:answer|choice|option)\b[^.:\n]{0,60}:/gi,
  /\b(?:I|we)\s{1,5}(?:choose|pick|select|go\s{1,5}with)\b/gi,
  /^[ \t]{0,20}#{1,6}[ \t]{0,20}(?:final[ \t]{1,5})?(?:answer|choice)[ \t]{0,20}$/gim,
]
const conclusion =
  /\b(?:so|thus|hence|therefore)[,:]?\s{1,5}(?:it\s{1,5}is\s{1,5})?[*_(]{0,3}([A-D])[*_)]{0,3}[ \t]{0,5}[.!]?[ \t]*$/gim

/** The last statement of a letter. */
function stated(text: string): string | null {
  const found: { at: number; letter: string }[] = []
  for (const pattern of statements)
    for (const match of [...text.matchAll(pattern)].slice(-20)) {
      const letter = letterAhead(text.slice(match.index + match[0].length, match.index + match[0].length + 200))
      if (letter) found.push({ at: match.index, letter })
    }
  for (const match of [...text.matchAll(conclusion)].slice(-20)) found.push({ at: match.index, letter: match[1] })
  return found.sort((a, b) => b.at - a.at)[0]?.letter ?? null
}

/** Longer texts are no bare answers. */
const longestBare = 100

function bareLetter(text: string): string | null {
  const whole = text.replace(/^\s*```\w*\n|\n```\s*$/g, '').trim()
  return whole.length <= longestBare && !whole.includes('\n') ? letterOf(whole) : null
}

/** Between two boxes that are offered as alternatives. */
const between = /^\}?[\s$.,;/]*(?:or|and)?[\s$]*\\boxed\s*\{?$/i

function choiceIn(text: string): Choice | null {
  const { complete, unclosed, emptyLast } = findBoxes(text)
  if (unclosed !== null) {
    const letter = letterOf(unclosed)
    return letter ? { letters: [letter], text: unclosed, doubt: 'the box is not closed' } : null
  }
  const last = complete.at(-1)
  if (last) {
    const letters = new Set<string>()
    for (let i = complete.length - 1; i >= 0; i--) {
      if (i < complete.length - 1 && !between.test(text.slice(complete[i].end, complete[i + 1].start))) break
      const letter = letterOf(complete[i].text)
      if (letter) letters.add(letter)
    }
    return {
      letters: [...letters],
      text: last.text,
      doubt: letters.size > 1 ? 'several options are boxed' : emptyLast ? 'an empty box comes behind it' : null,
    }
  }
  if (emptyLast) return null
  const letter = stated(text) ?? bareLetter(text)
  return letter ? { letters: [letter], text: letter, doubt: null } : null
}

function committed(output: string): Choice | null {
  const { spoken, unclosed } = splitThinking(output)
  const said = choiceIn(spoken)
  if (said || unclosed === null) return said
  const thought = choiceIn(unclosed.replace(/^<think(?:ing)?>/i, ''))
  return thought && { ...thought, doubt: 'said in a think block that is not closed' }
}

const optionLabel = /^\s*([A-Za-z])\s*[.):-]\s*/

/** Letter -> text of the options, by their own labels where all have one, else in order. */
function labelled(options: readonly string[]): Map<string, string> {
  const own = options.every((option, i) => optionLabel.exec(option)?.[1].toUpperCase() === String.fromCharCode(65 + i))
  return new Map(
    options.map((option, i) => [
      String.fromCharCode(65 + i),
      own ? option.replace(optionLabel, '').trim() : option.trim(),
    ]),
  )
}

const same = (text: string): string => unwrapped(text).replace(/\s+/g, ' ').trim().toLowerCase()

/** The letter of a gold answer: the option that it is word for word, else the letter that it is; null for neither. */
export function strictGold(answer: string, options: readonly string[]): string | null {
  const wanted = same(answer.replace(/^\s*[A-D]\s*[.):-]\s+/, ''))
  if (wanted !== '')
    for (const [letter, text] of labelled(options))
      if (same(text) === wanted || same(text) === same(answer)) return letter
  return letterOf(answer)
}

/** Grades an output against the right option. Never throws; takes time linear in the output. */
export function gradeStrictChoice(gold: string | null, output: string, options: readonly string[] = []): StrictVerdict {
  const choice = committed(output)
  const letters = choice?.letters ?? []
  const pred = letters.length > 0 ? letters.join(' or ') : choice && choice.text !== '' ? choice.text : null
  const verdict = ((): Verdict => {
    if (gold === null) return wrong('the row does not say which option is right')
    if (!choice) return wrong('no option chosen')
    if (letters.length === 0) {
      const named = labelled(options).get(gold)
      const isNamed = named !== undefined && same(named) === same(choice.text)
      return isNamed ? debatable("the option's text in place of its letter") : wrong('no option chosen')
    }
    if (!letters.includes(gold)) return wrong('another option')
    return choice.doubt ? doubted(right('the right option'), choice.doubt) : right('the right option')
  })()
  return { ...verdict, pred, gold: gold ?? '' }
}
