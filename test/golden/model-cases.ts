/** The golden models of the families that the engine knows. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { families } from '../../src-main/engine/models/families'

export const modelsFolder = join(import.meta.dirname, 'models')

export const modelCases = readdirSync(modelsFolder).filter((name) => {
  const config = JSON.parse(readFileSync(join(modelsFolder, name, 'config.json'), 'utf8')) as { model_type: string }
  return config.model_type in families
})
