/** The styles as the page shows them, from the engine's registry: roles, links, and the fields of the data that each use needs. */
import type { FieldView, StyleView } from '../bridge/contract'
import { styles } from '../engine/styles/registry'
import { isFeedback, namedLinks, type StyleDefinition } from '../engine/styles/style'
import { answerField, optionalFields, questionFields } from './data-fields'

export function styleViews(): StyleView[] {
  return styles.map(styleView)
}

function styleView(style: StyleDefinition): StyleView {
  return {
    name: style.name,
    title: inWords(style.name),
    agents: style.roles.map(({ role, targets }, i) => ({ role, field: targets[0], writes: i === style.last })),
    links: namedLinks(style).map((link, i) => ({ ...link, feedback: isFeedback(style.links[i]) })),
    fields: fieldsOf(style),
  }
}

function fieldsOf({ roles }: StyleDefinition): FieldView[] {
  const [question] = questionFields
  const fields: FieldView[] = [
    {
      field: question,
      title: 'Question',
      columns: [...questionFields],
      needed: { inner: true, outer: true, evaluate: true },
    },
  ]
  for (const { role, targets } of roles) {
    const isGold = targets[0] === answerField
    fields.push({
      field: targets[0],
      title: `Text of the ${role.replaceAll('-', ' ')}${isGold ? ', gold answer' : ''}`,
      columns: [...targets],
      needed: { inner: true, outer: true, evaluate: isGold },
    })
  }
  if (!fields.some(({ field }) => field === answerField))
    fields.push({
      field: answerField,
      title: 'Gold answer',
      columns: [answerField],
      needed: { inner: false, outer: false, evaluate: true },
    })
  for (const [field, title] of Object.entries(optionalFields))
    fields.push({ field, title, columns: [field], needed: { inner: false, outer: false, evaluate: false } })
  return fields
}

function inWords(name: string): string {
  const words = name.replaceAll('-', ' ')
  return words[0].toUpperCase() + words.slice(1)
}
