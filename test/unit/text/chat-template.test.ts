import { describe, expect, it } from 'vitest'
import { UserError } from '../../../src-main/engine/errors'
import { createChatTemplate, type ChatMessage } from '../../../src-main/engine/text/chat-template'
import { formatDay } from '../../../src-main/engine/text/clock'

const system: ChatMessage = { role: 'system', content: 'Be brief.' }
const user: ChatMessage = { role: 'user', content: 'Why?' }
const make = (source: string, day?: { year: number; month: number; day: number }) =>
  createChatTemplate(source, { special: {} }, 'a model', day)
const SHOW = '{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}'
const refusing = (words: string) =>
  `{% if messages[0].role == 'system' %}{{ raise_exception('${words}') }}{% endif %}${SHOW}`

describe('a template that refuses the system role', () => {
  const other = make(refusing('System role not supported'))

  it('gets system and user text in one message, whatever its words, in corrected mode', () => {
    expect(other.render([system, user], { generationPrompt: false, mode: 'corrected' })).toEqual({
      text: '[user]Be brief.\n\nWhy?',
      systemMerged: true,
      thinkingDropped: false,
    })
  })

  it('is followed in reference mode only on the published complaint', () => {
    expect(() => other.render([system, user], { generationPrompt: false, mode: 'reference' })).toThrow(
      /System role not supported/,
    )
    const alternating = make(refusing('Conversation roles must alternate user/assistant'))
    const { text } = alternating.render([system, user], { generationPrompt: false, mode: 'reference' })
    expect(text).toBe('[user]Be brief.\n\nWhy?')
  })

  it('gets system texts from anywhere in front of the first user message in corrected mode', () => {
    const late = make(
      "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no') }}{% endif %}{% endfor %}" + SHOW,
    )
    const { text } = late.render([user, system], { generationPrompt: false, mode: 'corrected' })
    expect(text).toBe('[user]Be brief.\n\nWhy?')
    expect(late.render([system], { generationPrompt: false, mode: 'corrected' }).text).toBe('[user]Be brief.')
  })
})

describe('a template that refuses enable_thinking', () => {
  it('is asked again without it', () => {
    const picky = make(
      "{% if enable_thinking is defined %}{{ raise_exception('no enable_thinking here') }}{% endif %}ok",
    )
    const options = { generationPrompt: false, mode: 'reference' } as const
    expect(picky.render([user], { ...options, enableThinking: false })).toMatchObject({
      text: 'ok',
      thinkingDropped: true,
    })
    expect(picky.render([user], options)).toMatchObject({ text: 'ok', thinkingDropped: false })
  })

  it('and the system role gets both fallbacks', () => {
    const both = make(
      "{% if enable_thinking is defined %}{{ raise_exception('no enable_thinking here') }}{% endif %}" +
        refusing('Conversation roles must alternate'),
    )
    const result = both.render([system, user], { generationPrompt: false, mode: 'reference', enableThinking: true })
    expect(result).toEqual({ text: '[user]Be brief.\n\nWhy?', systemMerged: true, thinkingDropped: true })
  })
})

it('every other refusal is told in the words of the template', () => {
  const error = (() => {
    try {
      return make("{{ raise_exception('only even questions') }}").render([user], {
        generationPrompt: true,
        mode: 'corrected',
      })
    } catch (e) {
      return e
    }
  })()
  expect(error).toBeInstanceOf(UserError)
  expect((error as UserError).why).toBe('It says: only even questions.')
})

it('a template that cannot run is a UserError with the cause', () => {
  const broken = make('{{ messages[0].content.nope() }}')
  expect(() => broken.render([user], { generationPrompt: true, mode: 'corrected' })).toThrow(UserError)
})

describe('the clock', () => {
  it('is pinned, and can be set', () => {
    const dated = "{{ strftime_now('%d %B %Y') }}"
    const options = { generationPrompt: true, mode: 'corrected' } as const
    expect(make(dated).render([user], options).text).toBe('26 July 2024')
    expect(make(dated, { year: 2031, month: 3, day: 4 }).render([user], options).text).toBe('04 March 2031')
  })

  // From Python 3: datetime.date(2024, 12, 1).strftime(...), 1 December 2024 being a Sunday.
  it.each([
    ['%Y-%m-%d', '2024-12-01'],
    ['%a %A %b %B', 'Sun Sunday Dec December'],
    ['%-d %j %y %H:%M:%S %I %p', '1 336 24 00:00:00 12 AM'],
    ['100%% %F', '100% 2024-12-01'],
  ])('formats %s as Python does', (format, wanted) => {
    expect(formatDay({ year: 2024, month: 12, day: 1 }, format)).toBe(wanted)
  })
})
