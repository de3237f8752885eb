/**
 * The page without the app, on made-up data, for work on its looks:
 *   npx vite build --config test/page/vite.config.ts && npx vite preview --config test/page/vite.config.ts
 * then open http://localhost:5199/?state=running in Chromium. States: see fixture-data.ts. Nothing here is part of the product.
 */
import { fileURLToPath } from 'node:url'
import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vite'

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: './',
  plugins: [svelte({ configFile: false })],
  build: {
    outDir: fileURLToPath(new URL('../../.cache/page-fixture', import.meta.url)),
    emptyOutDir: true,
    target: 'chrome130',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 4096,
  },
  preview: { port: 5199, strictPort: true },
})
