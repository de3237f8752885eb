/** The window: it opens with the app's name, in the sandbox settings that the design asks for, on a named runtime. */
import { existsSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findElectron } from '../../scripts/electron-runtime.mjs'
import { launchStudio, takeScreenshots, type StudioUnderTest } from './launch'

let studio: StudioUnderTest

beforeAll(async () => {
  studio = await launchStudio()
})
afterAll(() => studio?.close())

describe('the window', () => {
  it('opens with the name of the app', async () => {
    expect(await studio.page.title()).toBe('RecursiveMAS Studio')
    expect(await studio.app.evaluate(({ app }) => app.getName())).toBe('RecursiveMAS Studio')
  })

  it('runs on the runtime that the set-up found', async () => {
    const versions = await studio.app.evaluate(() => process.versions)
    expect(versions.electron).toBe(findElectron()?.version)
    console.log(
      `end-to-end tests run on Electron ${versions.electron} (Node ${versions.node}, Chromium ${versions.chrome})`,
    )
  })

  it('gives its page neither Node nor inline scripts', async () => {
    const found = await studio.page.evaluate(() => {
      const script = document.createElement('script')
      script.textContent = 'window.inlineScriptRan = true'
      document.head.append(script)
      return {
        require: typeof (globalThis as { require?: unknown }).require,
        process: typeof (globalThis as { process?: unknown }).process,
        inline: 'inlineScriptRan' in window,
      }
    })
    expect(found).toEqual({ require: 'undefined', process: 'undefined', inline: false })
  })

  it('is kept as pictures in light, dark and small', async () => {
    await studio.page.getByRole('navigation').first().waitFor()
    const files = await takeScreenshots(studio, 'first-start')
    expect(files.map((file) => existsSync(file))).toEqual([true, true, true])
  })
})
