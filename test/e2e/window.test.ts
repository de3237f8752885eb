/** The window: it opens with the app's name, in the sandbox settings that the design asks for, on a named runtime. */
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

  it('shows the demo with its models on the first start, all of it within the window', async () => {
    const { page } = studio
    await page.getByRole('button', { name: 'Run the demo' }).waitFor()
    for (const role of ['planner', 'critic', 'solver']) {
      await page.getByRole('img', { name: new RegExp(`^${role}: (llama|qwen2|qwen3), width \\d+$`) }).waitFor()
    }
    const reply = await page.evaluate(() => window.studio.request('projects/open', { project: 'Demo' }))
    expect(reply.ok && reply.value.models.map((model) => model.bytes > 100_000)).toEqual([true, true, true])
    await takeScreenshots(studio, 'first-start')
  })

  it('the shell stays where it is whatever is scrolled to', async () => {
    const moved = await studio.page.evaluate(() => {
      const places: number[] = []
      for (const element of document.querySelectorAll('body *')) {
        element.scrollIntoView({ block: 'start' })
        const shell = document.querySelector('.shell')?.getBoundingClientRect()
        const status = document.querySelector('footer')?.getBoundingClientRect()
        places.push(shell?.top ?? NaN, (status?.bottom ?? NaN) - innerHeight, scrollY)
      }
      return places.filter((place) => place !== 0)
    })
    expect(moved).toEqual([])
  })
})
