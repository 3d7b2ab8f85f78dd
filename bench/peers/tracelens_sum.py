"""The table of operators with device time by TraceLens: load, tree, kernel launchers."""
import sys

from TraceLens import TreePerfAnalyzer

analyzer = TreePerfAnalyzer.from_file(profile_filepath=sys.argv[1])
print(len(analyzer.get_df_kernel_launchers()))
