/** A system of a style in the published layout, of tiny random models that read any text. */
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { initInnerLink, initOuterLink } from '../../../src-main/engine/nn/link-init'
import type { InnerLinkType, OuterLinkType } from '../../../src-main/engine/nn/link-types'
import { TorchGenerator } from '../../../src-main/engine/nn/torch-generator'
import { partOf } from '../../../src-main/engine/released/parts'
import { styleByName } from '../../../src-main/engine/styles/registry'
import {
  exportReferenceInner,
  exportReferenceOuter,
  type ReferenceStyle,
} from '../../../src-main/engine/training/link-files-export'
import { writeByteModel } from '../evaluation/byte-model'

export const scratch = mkdtempSync(join(tmpdir(), 'released-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

export const fresh = (): string => mkdtempSync(join(scratch, 'case-'))

const widths = [16, 32, 48, 16]
const models = new Map<number, Promise<string>>()

/** The model of an agent, made once. */
function model(agent: number): Promise<string> {
  let made = models.get(agent)
  if (!made) models.set(agent, (made = writeByteModel(join(scratch, `model-${agent}`), agent + 1, widths[agent])))
  return made
}

export interface TinySystem {
  readonly folder: string
  readonly inner: readonly { type: InnerLinkType; width: number; parameters: Record<string, Float32Array> }[]
  readonly outer: readonly {
    key: string
    type: OuterLinkType
    inWidth: number
    outWidth: number
    parameters: Record<string, Float32Array>
  }[]
}

/** Links of a style from a seed, of these types. */
export function tinyLinks(
  name: string,
  seed = 1,
  type: InnerLinkType = 'ln_res_adapter',
  outerType: OuterLinkType = 'outer_ln_res_adapter',
): Omit<TinySystem, 'folder'> {
  const { roles, links } = styleByName(name)
  const generator = new TorchGenerator(seed)
  return {
    inner: roles.map((_, i) => ({
      type,
      width: widths[i],
      parameters: { ...initInnerLink(type, widths[i], generator) },
    })),
    outer: links.map(({ key, source, target }) => {
      const [inWidth, outWidth] = [widths[source], widths[target]]
      return {
        key,
        type: outerType,
        inWidth,
        outWidth,
        parameters: { ...initOuterLink(outerType, inWidth, outWidth, generator) },
      }
    }),
  }
}

/** `named`: what the parts' folders are called, agents in order and the outer links. */
export async function tinySystem(
  name: ReferenceStyle,
  { links = tinyLinks(name), named }: { links?: Omit<TinySystem, 'folder'>; named?: readonly string[] } = {},
): Promise<TinySystem> {
  const folder = fresh()
  const { roles } = styleByName(name)
  const folders = (named ?? [...roles.map(partOf), 'outer']).map((n) => join(folder, n))
  for (const [i, link] of links.inner.entries()) {
    mkdirSync(folders[i], { recursive: true })
    cpSync(await model(i), folders[i], { recursive: true })
    await exportReferenceInner(folders[i], link)
  }
  await exportReferenceOuter(folders[roles.length], links.outer, {
    style: name,
    agents: roles.map((r) => ({ model: `org/${r.role}`, innerLink: r.role })),
    task: 'math',
    rounds: 2,
    superviseFinalOnly: true,
    earlierRoundsWeight: 0.1,
    enableThinking: false,
  })
  return { folder, ...links }
}
