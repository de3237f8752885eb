/** README's table of roles and columns says what the styles say. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { styles } from '../../../src-main/engine/styles/registry'
import { isFeedback } from '../../../src-main/engine/styles/style'

it('lists every role, whom it reads and the columns of its text', () => {
  const wanted = styles.flatMap(({ name, roles, links }) =>
    roles.map(({ role, targets }, agent) => {
      const into = links.filter((l) => l.target === agent)
      const reads = into.map((l) => `${roles[l.source].role}${isFeedback(l) ? ' (from round 2)' : ''}`)
      return `| ${name} | ${role} | ${reads.join(', ')} | ${targets.map((t) => `\`${t}\``).join(', ')} |`
    }),
  )
  const readme = readFileSync(join(import.meta.dirname, '../../../README.md'), 'utf8')
  const table = /\| style \| role \|.*\n\|[- |]+\n((?:\|.*\n)+)/.exec(readme)?.[1] ?? ''
  expect(table.trimEnd().split('\n')).toEqual(wanted)
})
