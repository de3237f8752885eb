/**
 * The environment of an engine process: what the operating system and the compute runtime need, and nothing else of ours. Keys and
 * tokens that a person has in the environment never reach it.
 */
const passed = new Set([
  // Where the system finds programs, libraries, homes and temporary files.
  ...['PATH', 'HOME', 'TMPDIR', 'TEMP', 'TMP', 'LANG', 'TZ', 'LD_LIBRARY_PATH'],
  ...['SystemRoot', 'windir', 'USERPROFILE', 'APPDATA', 'LOCALAPPDATA'],
  // Which devices and how many threads the compute runtime may take.
  ...['CUDA_VISIBLE_DEVICES', 'CUDA_DEVICE_ORDER', 'CUDA_CACHE_PATH', 'CUDA_HOME', 'CUDA_PATH', 'OMP_NUM_THREADS'],
  'STUDIO_DEBUG',
])

export function childEnvironment(parent: NodeJS.ProcessEnv): Record<string, string> {
  const names = Object.keys(parent).filter((name) => passed.has(name) || name.startsWith('LC_'))
  return Object.fromEntries(names.map((name) => [name, parent[name]!]))
}
