// Kinds of test: unit, golden and large under plain Node; page (what the page computes) under Node with the browser build of
// Svelte; e2e in the real app, one file at a time (`npm test` starts them in a session with a display and a key store).
import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: { name: 'unit', include: ['test/unit/**/*.test.ts'], exclude: ['test/unit/renderer/**'] },
      },
      {
        extends: true,
        plugins: [svelte({ configFile: false })],
        resolve: { conditions: ['browser', 'module', 'import', 'default'] },
        test: { name: 'page', include: ['test/unit/renderer/**/*.test.ts'] },
      },
      // gigabytes of disk and minutes of time: `npm run test:large` only
      { extends: true, test: { name: 'large', include: ['test/large/**/*.test.ts'], testTimeout: 1_800_000 } },
      { extends: true, test: { name: 'golden', include: ['test/golden/**/*.test.ts'], testTimeout: 300_000 } },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          fileParallelism: false,
          testTimeout: 300_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
})
