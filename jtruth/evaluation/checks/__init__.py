"""Do the labels contradict what an answer rests on?"""
