/**
 * Messages -> the text a model expects, by the model's own chat template. A template that refuses `enable_thinking` is
 * asked again without it; one that refuses a system message gets the system text in front of the first user message.
 */
import { repeats } from '../defects'
import { UserError } from '../errors'
import type { Mode } from '../job-spec'
import type { Day } from './clock'
import { parseTemplate, TemplateRefusal } from './jinja-template'
import type { TokenizerConfig } from './model-files'
import { stripPython } from './python-text'

export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant'
  readonly content: string
}

export interface ChatOptions {
  /** End with the header of the assistant's turn. */
  readonly generationPrompt: boolean
  /** Undefined: the template is not told at all. */
  readonly enableThinking?: boolean
  /** `reference` moves a system message only on the published complaint; `corrected` on any refusal. */
  readonly mode: Mode
}

export interface ChatText {
  readonly text: string
  /** The template refused the system role, so the system text stands in front of the first user message. */
  readonly systemMerged: boolean
  /** The template refused the variable enable_thinking. */
  readonly thinkingDropped: boolean
}

export interface ChatTemplate {
  /** UserError with the template's own words when it refuses the messages. */
  render(messages: readonly ChatMessage[], options: ChatOptions): ChatText
}

/** The complaint on which the published code merges system and user text. */
const ALTERNATE = 'conversation roles must alternate'

/** The published merge: only a system message directly followed by the user's, joined by a blank line and stripped. */
function mergeFirstTwo(messages: readonly ChatMessage[]): ChatMessage[] | null {
  if (messages[0]?.role !== 'system' || messages[1]?.role !== 'user') return null
  return mergeAll(messages.slice(0, 2)).concat(messages.slice(2))
}

/** All system texts in front of the first user message, in order, joined by blank lines. */
function mergeAll(messages: readonly ChatMessage[]): ChatMessage[] {
  const system = messages.filter((m) => m.role === 'system').map((m) => m.content)
  const rest = messages.filter((m) => m.role !== 'system')
  const first = rest.findIndex((m) => m.role === 'user')
  const user = (texts: string[]): ChatMessage => ({ role: 'user', content: stripPython(texts.join('\n\n')) })
  if (first < 0) return [user(system), ...rest]
  return rest.map((m, i) => (i === first ? user([...system, m.content]) : m))
}

function merged(messages: readonly ChatMessage[], complaint: string, mode: Mode): ChatMessage[] | null {
  if (repeats('one-complaint', mode)) return complaint.toLowerCase().includes(ALTERNATE) ? mergeFirstTwo(messages) : null
  return messages.some((m) => m.role === 'system') ? mergeAll(messages) : null
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error))

/**
 * The chat template of a model. `owner` names the model in errors.
 * UserError: the template cannot be parsed. `day` is the date that the template sees.
 */
export function createChatTemplate(
  source: string,
  config: Pick<TokenizerConfig, 'special'>,
  owner: string,
  day?: Day,
): ChatTemplate {
  const refuse = (why: string, next: string, cause: unknown) =>
    new UserError({ what: `The chat template of ${owner} cannot be used.`, why, next }, { cause })
  const program = (() => {
    try {
      return parseTemplate(source, day)
    } catch (error) {
      throw refuse(`${messageOf(error)}.`, 'Check the chat_template of the model, or use another model.', error)
    }
  })()

  const refused = (error: unknown) =>
    error instanceof TemplateRefusal
      ? refuse(
          `It says: ${error.message}.`,
          'Use a model whose template takes a system and a user message, or change the prompt pack.',
          error,
        )
      : refuse(
          `It failed with: ${messageOf(error)}.`,
          'Check the chat_template of the model, or use another model.',
          error,
        )

  return {
    render(messages, { generationPrompt, enableThinking, mode }) {
      /** Renders, once more without the thinking variable where the template does not take it. */
      const attempt = (list: readonly ChatMessage[]): Pick<ChatText, 'text' | 'thinkingDropped'> => {
        const variables = {
          ...config.special,
          messages: list.map((m) => ({ role: m.role, content: m.content })),
          add_generation_prompt: generationPrompt,
        }
        if (enableThinking === undefined) return { text: program.render(variables), thinkingDropped: false }
        try {
          return { text: program.render({ ...variables, enable_thinking: enableThinking }), thinkingDropped: false }
        } catch (error) {
          if (!messageOf(error).includes('enable_thinking')) throw error
          return { text: program.render(variables), thinkingDropped: true }
        }
      }
      try {
        return { ...attempt(messages), systemMerged: false }
      } catch (error) {
        const list = merged(messages, messageOf(error), mode)
        if (!list) throw refused(error)
        try {
          return { ...attempt(list), systemMerged: true }
        } catch (again) {
          throw refused(again)
        }
      }
    },
  }
}
