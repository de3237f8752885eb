// Builds dist/ with Vite: main process, preload, engine and data process, and command line for Node, the page for the browser.
// Everything is built beside dist/ first and swapped in when complete, so an interrupted build leaves the old one.
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { builtinModules } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { svelte } from '@sveltejs/vite-plugin-svelte'
import { build } from 'vite'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Node's own modules and Electron's: never bundled. */
const platform = ['electron', ...builtinModules, /^node:/]

/**
 * @typedef {{ name: string, source: string, config: import('vite').InlineConfig }} Part
 * @param {string} dir the folder to build into
 * @returns {Part[]}
 */
const parts = (dir) => [
  nodePart(dir, 'main', 'src-main/main.ts', 'main/main.js'),
  nodePart(dir, 'engine process', 'src-main/jobs/engine-process.ts', 'main/engine-process.js'),
  nodePart(dir, 'data process', 'src-main/data-process/data-process.ts', 'main/data-process.js'),
  nodePart(dir, 'command line', 'src-main/cli.ts', 'cli.js'),
  nodePart(dir, 'benchmark', 'test/bench/main.ts', 'bench.js'),
  preloadPart(dir),
  pagePart(dir),
]

/**
 * One ES module per entry, packages left in node_modules (the native ones cannot be bundled, and the others gain nothing).
 * No shared chunks: `import.meta.url` is then always that of the entry.
 * @param {string} dir
 * @param {string} name
 * @param {string} source
 * @param {string} file
 * @returns {Part}
 */
const nodePart = (dir, name, source, file) =>
  withoutPage({
    name,
    source,
    file: path.join(dir, file),
    build: { target: 'node20', sourcemap: true },
    format: 'es',
    packages: { external: true },
  })

/**
 * A sandboxed preload script may only be one CommonJS file that requires nothing but Electron.
 * @param {string} dir
 * @returns {Part}
 */
const preloadPart = (dir) =>
  withoutPage({
    name: 'preload',
    source: 'src-main/preload.ts',
    file: path.join(dir, 'main', 'preload.cjs'),
    build: { target: 'chrome130' },
    format: 'cjs',
    packages: { noExternal: true },
  })

/**
 * A single file that runs outside a page.
 * @param {{
 *   name: string, source: string, file: string, format: 'es' | 'cjs',
 *   build: import('vite').BuildOptions, packages: import('vite').SSROptions,
 * }} what
 * @returns {Part}
 */
function withoutPage({ name, source, file, format, build, packages }) {
  return {
    name,
    source,
    config: {
      ...common,
      build: {
        ...commonBuild,
        ...build,
        ssr: path.join(root, source),
        outDir: path.dirname(file),
        rolldownOptions: {
          external: platform,
          output: { format, entryFileNames: path.basename(file), codeSplitting: false },
        },
      },
      ssr: { target: 'node', ...packages },
    },
  }
}

/**
 * The page: relative addresses, no inlined assets and no inline script, so that a strict CSP holds.
 * @param {string} dir
 * @returns {Part}
 */
function pagePart(dir) {
  return {
    name: 'page',
    source: 'src-renderer/index.html',
    config: {
      ...common,
      root: path.join(root, 'src-renderer'),
      base: './',
      plugins: [svelte({ configFile: false })],
      build: {
        ...commonBuild,
        // Chromium of Electron 33, the older of the two runtimes.
        target: 'chrome130',
        outDir: path.join(dir, 'renderer'),
        assetsInlineLimit: 0,
        modulePreload: { polyfill: false },
        // Most of the time goes into compiling components: known, and no news to the person who waits.
        rolldownOptions: { checks: { pluginTimings: false } },
        chunkSizeWarningLimit: 4096,
      },
    },
  }
}

/** @type {import('vite').InlineConfig} */
const common = { root, configFile: false, envDir: false, logLevel: 'warn', publicDir: false }
const commonBuild = { emptyOutDir: false, reportCompressedSize: false, copyPublicDir: false }

/**
 * Builds everything into `dist/`; `finish` may add to the folder. Throws Vite's error when a part fails; dist/ is then as it was.
 * @param {{ log: (line: string) => void, finish: (folder: string) => void }} options
 */
export async function buildAll({ log, finish }) {
  const fresh = path.join(root, '.cache', `dist-${process.pid}`)
  const old = path.join(root, '.cache', `dist-old-${process.pid}`)
  rmSync(fresh, { recursive: true, force: true })
  mkdirSync(fresh, { recursive: true })
  try {
    for (const part of parts(fresh)) {
      log(`  ${part.name}`)
      await build(part.config)
    }
    finish(fresh)
    const dist = path.join(root, 'dist')
    if (existsSync(dist)) renameSync(dist, old)
    renameSync(fresh, dist)
  } finally {
    rmSync(fresh, { recursive: true, force: true })
    rmSync(old, { recursive: true, force: true })
  }
}
